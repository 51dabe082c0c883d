#pragma once
/// The part of Riemannian training for output weights, over all heads of a network: likelihood, gradient,
/// quasi-diagonal Hessian and the seeds of the backward passes (head_metric.h), or, for heads that are not split, the
/// seeds at their signals and the metric of their losses' parameters (loss_metric.h). Signs follow the loss: nats = -F,
/// and gradients point in the direction of increasing loss.

#include <variant>
#include <vector>

#include "optim/riemannian/head_metric.h"
#include "optim/riemannian/loss_metric.h"
#include "unfold/base/state_visitor.h"

namespace unfold {

template <class T>
class OutputMetric {
 public:
  /// `averages`: whether `direction` will keep a running average. `full`: whether the matrix over all output weights of
  /// a head is used. Throws UsageError if a head does not support it.
  OutputMetric(const CorePass<T>& core, double damping, bool averages, bool full = false);

  using Wanted = MetricWanted;
  /// Returns the sum of nats over the targets of the batch, weighted by head, from the activations of the core's last
  /// forward pass.
  double pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch, const Wanted& wanted);

  /// Adds the gradients and Hessians of the last pass with `metric` to the running averages (with weight `keep` for the
  /// old averages; 0: only this pass) and sets the direction H^-1 G at the output weights. Other entries of `direction`
  /// are unchanged.
  void direction(const Parameters<T>& parameters, double keep, std::span<double> direction);
  /// Returns the plain gradient of the last pass with `metric`.
  void gradient(const Parameters<T>& parameters, std::span<double> gradient) const;
  /// Overwrites the adjoints of the core's activations with the variances of the last pass with `variances`.
  void seed_variances(CorePass<T>& core) const;
  /// Returns whether a pass with `variances` draws random numbers, so that its `draw` matters.
  bool samples_variances() const;

  /// Visits the gradients and Hessians of the last pass with `metric`. The caller may replace them with sums over
  /// several batches and must then call `count_targets` for all these batches.
  template <class Visit>
  void visit_sums(const Visit& visit) {
    for (HeadPart& head : heads_) visit(std::visit([](auto& part) { return part.sums(); }, head));
  }
  void count_targets(const Batch& batch) {
    for (HeadPart& head : heads_)
      if (auto* split = std::get_if<HeadMetric<T>>(&head)) split->count_targets(batch);
  }

  void visit_averages(StateVisitor<T>& visitor);  ///< the state of the running averages, for checkpoints

 private:
  using HeadPart = std::variant<HeadMetric<T>, LossMetric<T>>;
  std::vector<HeadPart> heads_;
};

}  // namespace unfold
