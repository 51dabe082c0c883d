#pragma once
/// Pooling of the outputs of a layer to one vector per sequence. The result is read at the last position, where it
/// covers the whole sequence.

#include <span>
#include <vector>

#include "unfold/graph/circuit/circuit.h"

namespace unfold {

enum class Pool {
  last,  ///< the last state; with both directions: [h_T ; g_1]
  mean,  ///< the mean over positions
  max,   ///< the maximum over positions, element-wise
  all    ///< all three, concatenated
};

/// `layer` is the output of a layer: one signal, or the forward signal followed by the backward signal. Returns the
/// parts of the result, which the caller joins.
std::vector<Signal> pool(Circuit& c, std::span<const Signal> layer, Pool how);

}  // namespace unfold
