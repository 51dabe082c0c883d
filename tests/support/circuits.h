#pragma once
/// Small circuits that several tests use. They have no cell library between them and the engine.

#include <string>
#include <vector>

#include "graph/circuit/circuit.h"
#include "graph/structure/structure.h"

namespace unfold::test {

/// Symbols -> ReLU units with links one and two steps back and a trained start -> logits. Positively homogeneous.
void small_relu_net(Circuit& c);
/// An LSTM of two units spelt out, symbols in, logits out.
void small_lstm(Circuit& c);

/// A random circuit: one to three layers, each a loop (or none) with delays of one to three steps in one direction, on
/// top of everything before it; affine maps with several terms, every map, slices, shared sources, skip links, trained
/// starts, trees and grids.
void random_circuit(Circuit& c, Structure::Kind kind, std::uint64_t seed);
/// A ragged batch of one to five chains, grids or trees.
Structure random_structure(Structure::Kind kind, std::uint64_t seed);
Tree random_tree(Index nodes, std::uint64_t seed);

}  // namespace unfold::test
