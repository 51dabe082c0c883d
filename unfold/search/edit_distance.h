#pragma once
/// Insertions, deletions and substitutions that make one sequence of the other, at least (Levenshtein).

#include <span>

#include "unfold/base/types.h"

namespace unfold {

Index edit_distance(std::span<const Symbol> from, std::span<const Symbol> to);

}  // namespace unfold
