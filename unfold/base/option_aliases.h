#pragma once
/// Names that people give to options after years with other programs: `lr` is `rate`, `batch_size` is `batch`. They are
/// understood wherever an option is named, in SPECs, on the command line and in configuration files; what is written
/// down (cards, config.toml, messages) has our names alone. An option's own name always comes first.

#include <span>
#include <string>
#include <string_view>

namespace unfold {

/// The one of `names` that people call `word`, or `word` itself where it is one of them; empty when there is none.
/// Underscores count as hyphens.
std::string name_behind(std::string_view word, std::span<const std::string> names);

/// Whether two words name one option: equal but for hyphens, or one another's aliases.
bool name_the_same(std::string_view a, std::string_view b);

/// Whether `word` is what people call the main size of a model: "hidden", "units".
bool is_main_size(std::string_view word);

}  // namespace unfold
