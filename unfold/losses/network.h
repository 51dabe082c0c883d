#pragma once
/// A network: a circuit with named inputs and heads. It says what is read and what is predicted; it holds no
/// parameters.
///
///   field "previous" -> input signal ... circuit ... signal -> head: softmax loss of field "symbol"
///
/// The language model is the case in which the field read is the field predicted, one position earlier.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/engine/unfolding.h"
#include "unfold/losses/loss.h"

namespace unfold {

/// Where a field goes in: an input or symbols signal of the circuit.
struct NetworkInput {
  std::string field;
  Signal signal;
};

/// A signal, the field that it predicts, how it is judged, and what the judgement counts. Each head has a signal of its
/// own, which is an output of the circuit.
template <class T>
struct Head {
  std::string field;
  Signal signal;
  std::shared_ptr<const Loss<T>> loss;
  double weight = 1;
};

/// A parameter of which training drops numbers, or whole rows (training/weight_rules.h).
struct WeightDrop {
  int parameter;
  double rate;
  bool rows = false;
};
/// Two parameters that training keeps each other's transpose.
struct WeightTie {
  int parameter, transposed;
};

template <class T>
struct Network {
  std::shared_ptr<const Plan> plan;
  std::vector<NetworkInput> inputs;
  std::vector<Head<T>> heads;
  bool dropout = false;             ///< the circuit contains masks
  std::vector<Signal> hidden = {};  ///< outputs of the circuit that penalties act on (penalty.h); otherwise none
  /// Of trees that the network finds: which neighbours are merged (losses/merges.h). No output of the circuit unless a
  /// head reads it; otherwise none.
  Signal merges = {};
  /// The same network with fewer outputs, for sampled softmax (sampled_softmax.h); otherwise none.
  std::shared_ptr<const Network> fewer_outputs = nullptr;
  /// Of the products of passes over batches (batch_pass.h). What else is done with the network is exact.
  Precision precision = Precision::exact;
  /// Of the activities that those passes keep for the way back (batch_pass.h). Likewise.
  Precision activities = Precision::exact;
  /// Where those passes run instead of on the team (engine/backend.h); null: on the team. Likewise.
  std::shared_ptr<const Offload> offload = nullptr;
  std::vector<WeightDrop> drops = {};
  std::vector<WeightTie> ties = {};

  const Circuit& circuit() const {
    if (heads.empty() || !heads.front().signal.valid())
      throw UsageError("a network needs at least one head: a signal, a field and a loss");
    return *heads.front().signal.circuit;
  }
  /// For what works on one head: UsageError naming who asks when there are several.
  const Head<T>& only_head(std::string_view who) const {
    if (heads.size() == 1) return heads.front();
    throw UsageError(std::string(who) + " works on networks of one head; this one has " + std::to_string(heads.size()) +
                     ": train it with sgd, adam or hf");
  }
  /// One input and one head.
  static Network of(const std::shared_ptr<const Plan>& plan, NetworkInput input, Head<T> head, bool dropout = false) {
    Network network;
    network.plan = plan;
    network.inputs.push_back(std::move(input));
    network.heads.push_back(std::move(head));
    network.dropout = dropout;
    return network;
  }
  /// Zeroes the gradient of parameters that belong to losses: the backward pass knows nothing of them.
  void clear_own(std::span<T> gradient) const;
  /// Throws UsageError: no plan, no head, a head without a signal or a loss or with a weight that is not finite, two
  /// heads on one signal, a signal that is no output of the circuit, an input that is none.
  void validate() const;
};

}  // namespace unfold
