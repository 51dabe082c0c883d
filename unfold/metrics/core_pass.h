#pragma once
/// A network seen from below its heads: the recurrent core, which makes activities a, and for each head the output
/// weights, the affine map from the activities to the signal of its loss. Metrics need both apart: the seeds of their
/// backward passes stand at the activities, where the Fisher matrix of the losses is known (docs/riemannian.md).
///
/// The core is a plan of its own over the same circuit and parameters, whose outputs are the activities.

#include <optional>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/losses/network.h"

namespace unfold {

/// A head with its output weights.
template <class T>
struct CoreHead {
  Head<T> head;
  Node output;                     ///< the affine map to the signal of the loss
  std::vector<Signal> activities;  ///< its sources, one per term
  Index units = 0;                 ///< components of all activities
};

template <class T>
class CorePass {
 public:
  /// Throws UsageError: a loss whose rows do not count each for itself or that has no Fisher metric, a head that reads
  /// no affine map of signals that can be seeded.
  CorePass(const Network<T>& network, Team& team);

  void forward(const Batch& batch, const Parameters<T>& parameters, State<T>& state,
               std::optional<std::uint64_t> dropout_seed);

  Unfolding<T>& unfolding() { return unfolding_; }
  const Unfolding<T>& unfolding() const { return unfolding_; }
  const Plan& plan() const { return *plan_; }
  Team& team() const { return team_; }
  /// Those of the last forward pass, which must still live.
  const Parameters<T>& parameters() const { return *parameters_; }
  const Network<T>& network() const { return network_; }

  const std::vector<CoreHead<T>>& heads() const { return heads_; }
  /// A node of the circuit, which is one of the plan's too.
  Signal signal(int node) const { return {heads_.front().head.signal.circuit, node}; }
  Index units() const;  ///< of the head that reads the most

 private:
  Network<T> network_;
  Team& team_;
  std::vector<CoreHead<T>> heads_;
  std::shared_ptr<const Plan> plan_;
  Unfolding<T> unfolding_;
  const Parameters<T>* parameters_ = nullptr;
};

}  // namespace unfold
