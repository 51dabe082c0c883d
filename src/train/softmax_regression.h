#pragma once
/// Multinomial logistic regression in passes over data of any length:
///
///   SoftmaxRegression regression(mean, frequencies, rows, lambda);
///   do {
///     for (...) regression.add(x, labels, team);                      // the same rows in every pass
///   } while (regression.step(team));
///   use(regression.weights(), regression.bias());                     // log p = log softmax(x V + b)
///
/// V and b minimize -sum log p(label) + lambda' / 4 |V|^2, where lambda' = lambda * rows * (mean square of a centered
/// state), as in ridge regression (ridge.h); half of lambda' applies, as half of X'X bounds the curvature. With the
/// mean of the states subtracted, the matrix of second derivatives is at most (X'X + lambda' I) / 2 for each class and
/// rows / 2 for each bias (Böhning 1992). Steps to the minimum of this bound need one factorization, after the first
/// pass. They are accelerated by the momentum of Nesterov 1983, which is reset when a step turns against the gradient
/// (O'Donoghue & Candès 2015).
///
/// The initial biases are the logarithms of the class frequencies. All computations are in double. The results do not
/// depend on the number of threads. A pass takes time proportional to rows * inputs * classes, the first one also to
/// rows * inputs^2.

#include <optional>
#include <span>
#include <vector>

#include "train/cholesky.h"
#include "unfold/base/threads/team.h"
#include "unfold/numerics/product.h"

namespace unfold {

class SoftmaxRegression {
 public:
  static constexpr Index kMostPasses = 60;
  /// The passes end when a step would decrease the bound by less than this, in nats per row.
  static constexpr double kTolerance = 1e-6;

  /// `mean`: of the states, one per input; `frequencies`: fraction of the rows with each class. REQUIRES: lambda > 0.
  SoftmaxRegression(std::vector<double> mean, const std::vector<double>& frequencies, Index rows, double lambda);

  /// Adds rows to the gradient of the current pass. REQUIRES: labels in [0, classes), one per row.
  void add(Matrix<const double> x, std::span<const Symbol> labels, Team& team);
  /// Ends a pass and makes a step. Returns whether another pass is useful. Throws DataError for a pass without rows,
  /// and if lambda is too small for these states.
  bool step(Team& team);

  Index passes() const { return passes_; }
  /// Returns the mean negative log-likelihood in the last pass, before its step.
  double nats() const { return nats_; }
  std::vector<double> weights() const;  ///< [inputs x classes]
  std::vector<double> bias() const;     ///< [classes], for states whose mean has not been subtracted

 private:
  /// Values for the weights [classes x inputs] followed by the biases [classes].
  using Values = std::vector<double>;
  Matrix<double> matrix(Values& values) const { return {values.data(), classes_, inputs_, inputs_}; }
  void pack(Team& team);
  double newton_step(Values& direction, Team& team) const;

  void factor();

  Index inputs_, classes_;
  std::vector<double> mean_;
  double lambda_, penalty_ = 0;          ///< penalty_: lambda'
  Buffer<double> second_;                ///< X'X [inputs x inputs] in the first pass
  std::optional<Cholesky> factor_ = {};  ///< of X'X + lambda' I, after the first pass
  Values position_, ahead_, gradient_;   ///< the gradient is evaluated at `ahead_`, the position with momentum
  PackedMatrix<double> packed_;
  Buffer<double> centered_, scores_;
  double momentum_ = 1, total_ = 0, nats_ = 0;
  Index rows_ = 0, passes_ = 0;
};

}  // namespace unfold
