#pragma once
/// A network: a circuit with named inputs and heads. It defines which fields are read and predicted; it holds no
/// parameters.
///
///   field "previous" -> input signal ... circuit ... signal -> head: softmax loss of field "symbol"
///
/// A language model is the special case in which the input is the predicted field one position earlier.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/graph/engine/unfolding.h"
#include "unfold/loss/loss.h"

namespace unfold {

/// Connects a field to an input or symbols signal of the circuit.
struct NetworkInput {
  std::string field;
  Signal signal;
};

/// A signal, the field that it predicts, the loss and its weight. Each head has a separate signal, which is an output
/// of the circuit.
template <class T>
struct Head {
  std::string field;
  Signal signal;
  std::shared_ptr<const Loss<T>> loss;
  double weight = 1;
};

/// A parameter with DropConnect: training sets single elements or whole rows to 0.
struct WeightDropout {
  int parameter;
  double rate;
  bool rows = false;
};
/// Two parameters that training keeps as transposes of each other.
struct WeightTie {
  int parameter, transposed;
};

template <class T>
struct Network {
  std::shared_ptr<const Plan> plan;
  std::vector<NetworkInput> inputs;
  std::vector<Head<T>> heads;
  bool dropout = false;             ///< whether the circuit contains masks
  std::vector<Signal> hidden = {};  ///< outputs of the circuit that penalties act on (penalty.h); otherwise empty
  /// For trees that the network builds: scores for merging neighbors (loss/tree_merges.h). Not an output of the circuit
  /// unless a head reads it. Unset otherwise.
  Signal merges = {};
  /// The same network with fewer outputs, for sampled softmax; null without it.
  std::shared_ptr<const Network> fewer_outputs = nullptr;
  /// Precision of the products in passes over batches (batch_pass.h). All other uses of the network are exact.
  Precision precision = Precision::exact;
  /// Precision of the activations that those passes store for the backward pass (batch_pass.h). All other uses are
  /// exact.
  Precision activations = Precision::exact;
  /// Where those passes run instead of on the team (a GPU); if null, they run on the team. All other uses run on the
  /// team.
  std::shared_ptr<const Offload> offload = nullptr;
  std::vector<WeightDropout> drops = {};
  std::vector<WeightTie> ties = {};

  const Circuit& circuit() const {
    if (heads.empty() || !heads.front().signal.valid())
      throw UsageError("a network needs at least one head: a signal, a field and a loss");
    return *heads.front().signal.circuit;
  }
  /// Returns the only head. Throws a UsageError that names the caller if there are several.
  const Head<T>& only_head(std::string_view who) const {
    if (heads.size() == 1) return heads.front();
    throw UsageError(std::string(who) + " supports only networks with one head; this one has " +
                     std::to_string(heads.size()) + ": train it with sgd, adam or hf");
  }
  /// Creates a network with one input and one head.
  static Network of(const std::shared_ptr<const Plan>& plan, NetworkInput input, Head<T> head, bool dropout = false) {
    Network network;
    network.plan = plan;
    network.inputs.push_back(std::move(input));
    network.heads.push_back(std::move(head));
    network.dropout = dropout;
    return network;
  }
  /// Zeroes the gradient of the parameters owned by losses, which the backward pass does not set.
  void clear_own(std::span<T> gradient) const;
  /// Throws UsageError if there is no head, if two heads share a signal, or if a head's signal is not an output of the
  /// circuit.
  void validate() const;
};

}  // namespace unfold
