#pragma once
/// The option `activation` of recurrent layers with one nonlinearity, including less common functions. Internal to
/// cells/.
///
///   ramp    min(max(z / 4 + 1/2, 0), 1): bounded and piecewise linear (Neyshabur et al. 2016, section 3)
///   linear  z

#include "unfold/graph/cells/cell.h"

namespace unfold {

template <class Visitor>
void describe_all_activations(Visitor& v, Map& activation) {
  v("activation", activation, "activation function of the units",
    {{Map::tanh, "tanh"},
     {Map::relu, "relu"},
     {Map::sigmoid, "sigmoid"},
     {Map::softplus, "softplus"},
     {Map::hard_sigmoid, "ramp"},
     {Map::copy, "linear"}});
}

/// Returns s(z); for `linear`, z itself without a map.
inline Signal activated(Circuit& c, Map activation, Signal z) {
  return activation == Map::copy ? z : c.map(activation, z);
}

}  // namespace unfold
