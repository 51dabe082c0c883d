#pragma once
/// Some of the sequences of a structure.

#include <span>
#include <vector>

#include "unfold/engine/structure.h"

namespace unfold {

/// These sequences, in the order given, with what they look at of their sources. To `rows` is added, part after part,
/// the row that each row was before. REQUIRES at least one sequence.
Structure subset(const Structure& whole, std::span<const Index> sequences, std::vector<std::vector<Index>>& rows);

}  // namespace unfold
