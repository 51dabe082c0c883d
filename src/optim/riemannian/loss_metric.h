#pragma once
/// The metric of a head that is not split (core_pass.h): its loss couples positions, owns parameters, or has no Fisher
/// matrix by rows. The map to the signal of the loss then belongs to the core. This class seeds the backward passes at
/// the signal, and has the metric of the parameters that the loss owns (docs/riemannian.md).
///
/// The parameters of a loss act on one observation as a whole: a row if rows are independent, otherwise a sequence. Let
/// g_s be their gradient on observation s. Then M = sum over s of g_s g_s', the outer product metric, and G = sum of
/// g_s. For losses with many parameters, only the diagonal of M is used.

#include <span>
#include <vector>

#include "optim/riemannian/core_pass.h"
#include "optim/riemannian/head_metric.h"

namespace unfold {

template <class T>
class LossMetric {
 public:
  /// `damping`: added to the diagonal of M, times the head's weight. `averages`: whether `direction` will keep a
  /// running average.
  LossMetric(const CoreHead<T>& head, const Plan& plan, double damping, bool averages);

  const std::string& field() const { return head_.field; }
  /// Returns whether seeds of the modulus are random: the loss has a curvature, but no Fisher matrix of its rows.
  bool samples_variances() const;

  /// Returns the sum of nats over the targets of the batch (0 if errors are drawn), times the head's weight. Adds the
  /// seeds of the backward pass to the adjoint of the signal. Throws UsageError if the loss does not have a required
  /// capability: a curvature for drawn errors, or a curvature or Fisher matrix for variances.
  double pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch, const MetricWanted& wanted);
  /// Adds the variances of the last pass with `variances` to the adjoint of the signal.
  void add_variances(CorePass<T>& core) const;

  /// Sets M^-1 G at the parameters of the loss, with M averaged over batches if `keep` > 0.
  void direction(double keep, std::span<double> direction);
  /// Sets the gradient at the parameters of the loss, from the last pass with `metric`.
  void gradient(std::span<double> gradient) const;
  /// M, then G, of the last pass with `metric`. The caller may replace them with sums over several passes.
  std::span<double> sums() { return sums_; }
  std::span<T> average() { return average_; }  ///< state of the running average, for checkpoints

 private:
  Observed<T> observe(const CorePass<T>& core, const Parameters<T>& parameters, const Field& field) const;
  void find_variances(const Observed<T>& seen, const Field& field, Team& team, const MetricWanted& wanted);
  void accumulate(const Observed<T>& seen, const Field& field, Team& team, std::span<const double> weights);
  void add_observation(const Observed<T>& seen, std::span<const Index> rows, Team& team, double weight);
  Index count() const { return static_cast<Index>(own_.size()); }
  Index matrix_size() const { return full_ ? count() * count() : count(); }

  Head<T> head_;
  std::vector<Index> own_;  // indices of the loss's parameters
  bool full_ = true;
  double damping_;
  std::vector<double> sums_;  // M (lower triangle, or its diagonal), then G
  std::vector<T> average_;    // running average of M, followed by its weight
  std::vector<T> nats_, own_gradient_;
  Buffer<T> seeds_, variances_;  // [positions x signal]
  std::vector<T> signal_, adjoint_, values_;
  std::vector<Symbol> symbols_;
  std::vector<char> predicted_;
};

}  // namespace unfold
