#pragma once
/// The unfolded graph over which a path norm is taken: the positions, and the outputs in which paths end. A path begins
/// at any input or bias of any position.

#include <vector>

#include "unfold/graph/structure/structure.h"

namespace unfold {

struct PathEnds {
  int output = -1;               ///< node: an output of the circuit
  std::vector<Index> rows = {};  ///< ascending rows of the output at which it is read
};

struct PathGraph {
  Structure structure;
  std::vector<PathEnds> ends;
};

}  // namespace unfold
