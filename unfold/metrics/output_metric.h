#pragma once
/// The output weights' half of Riemannian training, over all heads of a network: likelihood, gradient, quasi-diagonal
/// Hessian and the seeds of the backward passes (head_metric.h). Signs are those of the loss: nats = -F, gradients
/// point uphill of the loss.

#include <vector>

#include "unfold/base/state_visitor.h"
#include "unfold/metrics/head_metric.h"

namespace unfold {

template <class T>
class OutputMetric {
 public:
  /// `averages`: `direction` will be asked to keep a running average.
  OutputMetric(const CorePass<T>& core, double damping, bool averages);

  using Wanted = MetricWanted;
  /// Sum of nats over the targets of the batch, each head with its weight, from the activities of the core's last
  /// forward pass.
  double pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch, const Wanted& wanted);

  /// Adds gradients and Hessian of the last pass with metric to the running averages (`keep` of the old ones; 0: the
  /// pass alone) and sets the direction H^-1 G at the output weights (all of `direction`'s other entries stay).
  void direction(const Parameters<T>& parameters, double keep, std::span<double> direction);
  /// The plain gradient of the last pass with metric.
  void gradient(const Parameters<T>& parameters, std::span<double> gradient) const;
  /// Overwrites the adjoints of the core's activities by the variances of the last pass that wanted them.
  void seed_variances(CorePass<T>& core) const;

  /// Gradients and Hessians of the last pass with metric, to be replaced by sums over several batches; then
  /// `count_targets` of all of them must follow.
  template <class Visit>
  void visit_sums(const Visit& visit) {
    for (HeadMetric<T>& head : heads_) visit(head.sums());
  }
  void count_targets(const Batch& batch) {
    for (HeadMetric<T>& head : heads_) head.count_targets(batch);
  }

  void visit_averages(StateVisitor<T>& visitor);  ///< the state of the running averages, for checkpoints

 private:
  std::vector<HeadMetric<T>> heads_;
};

}  // namespace unfold
