#pragma once
/// Small circuits shared by several tests. They use the engine directly, without the cell library.

#include <string>
#include <vector>

#include "unfold/graph/circuit/circuit.h"
#include "unfold/graph/structure/structure.h"

namespace unfold::test {

/// Symbols -> ReLU units with links one and two steps back and a trained initial state -> logits. Positively
/// homogeneous.
void small_relu_net(Circuit& c);
/// An explicit LSTM of two units, with symbols as input and logits as output.
void small_lstm(Circuit& c);

/// A random circuit: one to three layers, each with or without a loop with delays of one to three steps in one
/// direction. Each layer reads all previous layers. The circuits cover affine maps with several terms, every map,
/// slices, shared sources, skip links, trained initial states, trees and grids.
void random_circuit(Circuit& c, Structure::Kind kind, std::uint64_t seed);
/// Returns a ragged batch of one to five chains, grids or trees.
Structure random_structure(Structure::Kind kind, std::uint64_t seed);
Tree random_tree(Index nodes, std::uint64_t seed);

}  // namespace unfold::test
