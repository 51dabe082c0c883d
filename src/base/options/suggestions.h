#pragma once
/// Suggestions for misspelled names.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Returns the restricted Damerau–Levenshtein distance (optimal string alignment): the minimum number of insertions,
/// deletions, substitutions and transpositions of adjacent bytes, where no substring is edited twice.
Index text_distance(std::string_view a, std::string_view b);

/// Returns the candidate nearest to `name` (the first one on a tie); empty if none is close enough. A candidate is
/// close enough if its distance is 1 or at most a third of the longer name, or if `name` has at least three bytes and
/// is a prefix of it.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// Returns the end of a message, `; did you mean "rate"?`, or an empty string if no candidate is close.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace unfold
