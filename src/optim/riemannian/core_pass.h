#pragma once
/// A network split below its heads: the recurrent core, which computes the activations a, and for each head the output
/// weights, that is, the affine map from the activations to the signal of its loss. Metrics need the two parts
/// separately because the seeds of their backward passes are set at the activations, where the Fisher matrix of the
/// losses is known (docs/riemannian.md).
///
/// A head whose loss couples positions, owns parameters or has no Fisher metric by rows cannot be split. Neither can a
/// head whose signal is not an affine map of activations. The core then includes the map to its signal, whose weights
/// are those of units.
///
/// The core is a separate plan over the same circuit and parameters, with the activations, or the signals of such
/// heads, as outputs.

#include <optional>
#include <vector>

#include "unfold/data/text/batch.h"
#include "unfold/loss/network.h"

namespace unfold {

/// A head with its output weights, or a head that is not split.
template <class T>
struct CoreHead {
  Head<T> head;
  bool split = true;               ///< whether the output weights are separate from the core
  Node output;                     ///< the affine map to the signal of the loss; only if split
  std::vector<Signal> activities;  ///< the sources of the affine map, one per term; otherwise the signal of the loss
  Index units = 0;                 ///< number of components that the output map reads
};

template <class T>
class CorePass {
 public:
  CorePass(const Network<T>& network, Team& team);

  void forward(const Batch& batch, const Parameters<T>& parameters, State<T>& state,
               std::optional<std::uint64_t> dropout_seed);

  Unfolding<T>& unfolding() { return unfolding_; }
  const Unfolding<T>& unfolding() const { return unfolding_; }
  const Plan& plan() const { return *plan_; }
  Team& team() const { return team_; }
  /// Returns the parameters of the last forward pass, which must still be alive.
  const Parameters<T>& parameters() const { return *parameters_; }
  const Network<T>& network() const { return network_; }

  const std::vector<CoreHead<T>>& heads() const { return heads_; }
  /// Returns the signal of a node of the circuit; the plan has the same node.
  Signal signal(int node) const { return {heads_.front().head.signal.circuit, node}; }
  Index units() const;  ///< largest number of units that a head reads

 private:
  Network<T> network_;
  Team& team_;
  std::vector<CoreHead<T>> heads_;
  std::shared_ptr<const Plan> plan_;
  Unfolding<T> unfolding_;
  const Parameters<T>* parameters_ = nullptr;
};

}  // namespace unfold
