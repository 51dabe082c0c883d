#pragma once
/// A circuit as data: its nodes, parameters and outputs as plain values. The data can be stored in a file and added to
/// a circuit any number of times. Model files store a cell that a program registers in this form.
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

  /// Returns the indices of the inputs and symbols.
  std::vector<int> inputs() const;
};

/// REQUIRES: every link is fed (UsageError otherwise).
CircuitData data_of(const Circuit& circuit);

/// Adds a copy to a circuit, and returns the signal of each node. Without `inputs`, inputs and symbols are added as
/// well, and every node keeps its part. With `inputs` (one signal per input or symbols node), the copy belongs to the
/// current part, links follow Circuit::reversed, mirrored and with_initial_state, and outputs are not declared.
///
/// The data may come from an untrusted file: every index and size is checked. Throws a UsageError that names the
/// invalid node; a loop without a link is also invalid. After an exception, the circuit contains a part of the copy.
std::vector<Signal> add_circuit(Circuit& circuit, const CircuitData& data, std::span<const Signal> inputs = {});

}  // namespace unfold
