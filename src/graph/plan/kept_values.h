#pragma once
/// Which values of a plan are in memory after a forward pass. Not all are: a map may overwrite the values of its
/// operands, and values that only their own program reads stay in the tile. Internal to graph/.

#include <vector>

#include "unfold/graph/plan/plan.h"

namespace unfold {

/// Returns for each node whether its place contains its values after a forward pass. Nodes of symbols have none.
std::vector<char> kept_values(const Plan& plan);

}  // namespace unfold
