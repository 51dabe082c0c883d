#pragma once
/// A circuit as data: its nodes, parameters and outputs without their owner. It can be stored in a file, and added to a
/// circuit any number of times. A cell that a program registers is stored in this form in its models.
///
///   const CircuitData data = data_of(circuit);
///   Circuit same;
///   add_circuit(same, data);                                 // the same nodes, parameters and outputs
///   const std::vector<Signal> of = add_circuit(c, data, {x});   // a cell: its input is x, its parameters are in the
///                                                               // scope of c
///
/// The members follow those of Circuit. `parameters` are in order of creation; offsets are not used. The names of
/// links, maps, slices and masks are chosen when they are added; only their scope is kept.

#include <span>
#include <vector>

#include "unfold/graph/circuit/circuit.h"

namespace unfold {

struct CircuitData {
  std::vector<Node> nodes = {};
  std::vector<ParameterInfo> parameters = {};
  std::vector<int> outputs = {};

  /// Indices of the inputs and symbols.
  std::vector<int> inputs() const;
};

/// REQUIRES: every link is fed (UsageError otherwise).
CircuitData data_of(const Circuit& circuit);

/// Adds a copy to a circuit, and returns the signal of each node. Without `inputs`, inputs and symbols are added too,
/// and every node belongs to its part. With `inputs`, one signal for each input and symbols, the copy belongs to the
/// current part, links follow Circuit::reversed, mirrored and with_initial_state, and outputs are not declared.
///
/// The data may come from an untrusted file: every index and size is checked. Throws a UsageError that names the node,
/// including for a loop without a link. After an exception, the circuit contains a part of the copy.
std::vector<Signal> add_circuit(Circuit& circuit, const CircuitData& data, std::span<const Signal> inputs = {});

}  // namespace unfold
