#pragma once
/// Levenshtein distance: the minimum number of insertions, deletions and substitutions that turn one sequence into the
/// other.

#include <span>

#include "unfold/base/types.h"

namespace unfold {

Index edit_distance(std::span<const Symbol> from, std::span<const Symbol> to);

}  // namespace unfold
