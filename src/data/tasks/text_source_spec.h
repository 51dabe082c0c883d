#pragma once
/// SPECs of text sources, such as `alphabet`, `xor:50`, `music`, `anbn:low=1,high=1000`, and the list of sources.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options/registry.h"
#include "unfold/data/tasks/text_generators.h"

namespace unfold {

/// Returns null if the SPEC does not name a text source. Throws UsageError for a malformed SPEC, an unknown option or
/// an invalid value.
std::unique_ptr<TextSource> make_text_source(std::string_view spec);

using SourceHelp = EntryHelp;
std::vector<SourceHelp> text_sources();

}  // namespace unfold
