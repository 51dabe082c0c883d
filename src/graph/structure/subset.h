#pragma once
/// Selects some of the sequences of a structure.

#include <span>
#include <vector>

#include "unfold/graph/structure/structure.h"

namespace unfold {

/// Returns the structure of the given sequences, in the order given, including the chains of their sources. Appends to
/// `rows`, for each part, the original row of each row. REQUIRES at least one sequence.
Structure subset(const Structure& whole, std::span<const Index> sequences, std::vector<std::vector<Index>>& rows);

}  // namespace unfold
