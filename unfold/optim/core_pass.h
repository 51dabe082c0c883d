#pragma once
/// A network seen from below its softmax: the recurrent core, which makes activities a, and the output weights, the
/// affine map from the activities to the logits. Metrics need both apart: the seeds of their backward passes stand at
/// the activities, where the Fisher matrix of the softmax is exact (docs/riemannian.md).
///
/// The core is a plan of its own over the same circuit and parameters, whose outputs are the activities.

#include <optional>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/losses/network.h"

namespace unfold {

template <class T>
class CorePass {
 public:
  /// Throws UsageError: several heads, a loss without logits, a head that reads no affine map of signals that can be
  /// seeded.
  CorePass(const Network<T>& network, Team& team);

  void forward(const Batch& batch, const Parameters<T>& parameters, State<T>& state,
               std::optional<std::uint64_t> dropout_seed);

  Unfolding<T>& unfolding() { return unfolding_; }
  const Unfolding<T>& unfolding() const { return unfolding_; }
  const Plan& plan() const { return *plan_; }
  Team& team() const { return team_; }
  const Network<T>& network() const { return network_; }

  const Head<T>& head() const { return network_.heads.front(); }
  const Node& output() const { return output_; }                         ///< the affine map to the logits
  const std::vector<Signal>& activities() const { return activities_; }  ///< its sources, one per term
  Index units() const { return units_; }                                 ///< components of all activities

 private:
  Network<T> network_;
  Team& team_;
  Node output_;
  std::vector<Signal> activities_;
  Index units_ = 0;
  std::shared_ptr<const Plan> plan_;
  Unfolding<T> unfolding_;
};

}  // namespace unfold
