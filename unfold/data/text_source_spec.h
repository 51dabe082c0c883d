#pragma once
/// SPECs of text sources: `alphabet`, `xor:50`, `music`, `anbn:low=1,high=1000`. An explicit list.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/registry.h"
#include "unfold/data/text_sources.h"

namespace unfold {

/// Null when the SPEC names no text source. Throws UsageError: a malformed SPEC, an unknown option, a bad value.
std::unique_ptr<TextSource> make_text_source(std::string_view spec);

using SourceHelp = EntryHelp;
std::vector<SourceHelp> text_sources();

}  // namespace unfold
