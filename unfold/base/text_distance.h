#pragma once
/// Suggestions for mistyped names.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Damerau–Levenshtein distance in its restricted form (optimal string alignment): the least number of insertions,
/// deletions, replacements and swaps of neighbours, no part edited twice. Bytes, not characters.
Index text_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, the first of equals; empty if none is near enough to be meant (more than a third of
/// the longer name, and more than one edit, away).
std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// The end of a message: `; did you mean "rate"?` or, if nothing is near, nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace unfold
