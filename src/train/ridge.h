#pragma once
/// Ridge regression from sums that are accumulated in one pass over data of any length:
///
///   RidgeSums sums(states, outputs, 0);
///   for (...) sums.add(x, y);                        // rows of states and of target outputs
///   RidgeFit fit = sums.solve({});                   // y ~ x V + b
///
/// V minimizes |X V + 1 b - Y|^2 + lambda' |V|^2, where lambda' = lambda * rows * (mean square of a centered state).
/// lambda is given or is selected from powers of ten by
///   generalized cross-validation, rows |residual|^2 / (rows - trace of the hat matrix)^2 (Golub, Heath & Wahba 1979),
///   or cross-validation over blocks of the data, whose sums are stored separately.
/// Both need only the sums, so memory does not grow with the data. With fewer than twice as many rows as inputs,
/// generalized cross-validation is unreliable; cross-validation over five consecutive blocks is used instead, for which
/// these rows are kept. All computations are in double, with a fixed order of summation.

#include <span>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

struct RidgeOptions {
  double lambda = 0;          ///< 0: selected automatically
  double most_lambda = 10;    ///< largest value of lambda that is tried
  bool standardized = false;  ///< the penalty applies to the weights of states divided by their standard deviation
};

struct RidgeFit {
  std::vector<double> weights;  ///< [inputs x outputs]
  std::vector<double> bias;     ///< [outputs]
  /// [outputs]: mean square of held-out residuals, estimated as for the selection of lambda; if this is not possible
  /// for the given lambda, mean square on the training data.
  std::vector<double> squares;
  double lambda = 0;
  /// Mean square of the residuals by which lambda was selected; on the training data if lambda was given.
  double mean_square = 0;
};

class RidgeSums {
 public:
  /// `blocks`: 0, or at least 2 blocks for cross-validation. Throws UsageError otherwise.
  RidgeSums(Index inputs, Index outputs, Index blocks);
  /// Adds rows of x and y. Groups of kRun consecutive rows are assigned to the blocks in turn. `weights`: one number
  /// per row, which multiplies its squared residual; empty: all are 1.
  void add(Matrix<const double> x, Matrix<const double> y, std::span<const double> weights = {});
  Index rows() const { return total_.rows; }
  /// Throws DataError for fewer than two rows or if the data does not allow a fit.
  RidgeFit solve(const RidgeOptions& options) const;

  static constexpr Index kRun = 256;

 private:
  /// The number of rows, and sums over rows of w, w z and w z z', where w is the weight and z = [x ; y].
  struct Sums {
    Index rows = 0;
    double weight = 0;
    std::vector<double> first, second;
  };
  struct Centered;
  void add_to(Sums& sums, Matrix<const double> z, std::span<const double> weights) const;
  Centered centered(const Sums& sums, std::span<const double> scales = {}) const;
  std::vector<double> deviations() const;
  std::vector<Sums> folds() const;
  std::vector<double> left_out(const std::vector<Sums>& folds, std::span<const double> scales, double lambda) const;
  std::vector<double> cross_validation(const Centered& all, double lambda) const;

  Index inputs_, outputs_;
  Sums total_;
  std::vector<Sums> blocks_;
  std::vector<double> kept_, kept_weights_;  // the rows z and their weights, while there are few of them
  Index filled_ = 0;                         // rows in the current group
  std::size_t block_ = 0;
};

}  // namespace unfold
