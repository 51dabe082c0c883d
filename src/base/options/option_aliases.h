#pragma once
/// Aliases of options, as other programs name them: `lr` for `rate`, `batch_size` for `batch`. They are accepted
/// wherever an option is named: in SPECs, on the command line and in configuration files. Output (cards, config.toml,
/// messages) uses only the canonical names. An exact match with a canonical name takes precedence over an alias.

#include <span>
#include <string>
#include <string_view>

namespace unfold {

/// Returns the element of `names` that equals `word` or has it as an alias; empty if there is none. Underscores count
/// as hyphens.
std::string name_behind(std::string_view word, std::span<const std::string> names);

/// Returns whether two words name the same option: they are equal up to hyphens and underscores, or aliases of one
/// option.
bool name_the_same(std::string_view a, std::string_view b);

/// Returns whether `word` is a common name for the main size of a model: "hidden", "units".
bool is_main_size(std::string_view word);

}  // namespace unfold
