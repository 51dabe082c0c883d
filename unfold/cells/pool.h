#pragma once
/// One vector for a whole sequence, from what a layer gives at every position: read at its last position, it has seen
/// them all. Methods text 6, "One output for a whole sequence".

#include <span>
#include <vector>

#include "unfold/circuit/circuit.h"

namespace unfold {

enum class Pool {
  last,  ///< the last state; of both directions: [h_T ; g_1]
  mean,  ///< the mean over positions
  max,   ///< the maximum over positions, component by component
  all    ///< these three, joined
};

/// `layer`: what a layer gives, one signal or those of both directions, forward before backward. The parts of the
/// result, to be joined.
std::vector<Signal> pool(Circuit& c, std::span<const Signal> layer, Pool how);

}  // namespace unfold
