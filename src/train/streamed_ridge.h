#pragma once
/// Ridge regression on many rows with many features, in one pass:
///
///   StreamedRidge ridge(features, outputs, team);
///   for (...) ridge.add(x, y);                          // rows of features and of target outputs
///   const StreamedRidgeFit fit = ridge.solve({});       // y ~ x V + b
///
/// The normal equations are accumulated, and features are standardized by their sums. Every tenth row (at most 2,000
/// rows) is first held out: lambda is chosen such that the fit to the other rows predicts the held-out rows best. These
/// rows are then added. lambda is relative to the number of rows.
///
/// Memory is two arrays of features^2 doubles, regardless of the number of rows. Time is rows * features^2 / 2, plus
/// features^3 / 6 for each lambda, divided among the team. All sums are in double, in a fixed order; results do not
/// depend on the number of threads.

#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"

namespace unfold {

struct StreamedRidgeFit {
  std::vector<double> weights;   ///< [features x outputs]
  std::vector<double> bias;      ///< [outputs]
  std::vector<double> held_out;  ///< [held-out rows x outputs]: predicted from the other rows
  std::vector<Index> held;       ///< numbers of the held-out rows, ascending
  double lambda = 0;
  double mean_square = 0;  ///< mean square of the residuals of held_out
};

class StreamedRidge {
 public:
  StreamedRidge(Index features, Index outputs, Team& team);

  /// x [rows x features], y [rows x outputs]. `weight`: the weight of the squared errors of these rows, above 0.
  void add(Matrix<const float> x, Matrix<const double> y, double weight = 1);
  Index rows() const { return rows_; }
  /// Adds the held-out rows to the sums; call it once. If `lambda` is 0, it is selected from powers of ten. Throws
  /// DataError if no feature varies, if a feature is not finite, or if there are fewer than 20 rows.
  StreamedRidgeFit solve(double lambda);

 private:
  struct Scaled;
  void add_pending(const float* x, const double* y, double weight);
  void flush();
  void accumulate(Matrix<const double> z);
  Scaled scaled() const;
  std::vector<double> fit(const Scaled& scaled, double lambda) const;

  Index features_, outputs_, width_;
  Team& team_;
  Index rows_ = 0, pending_ = 0;
  double summed_ = 0;                      // weights of the rows in the sums
  std::vector<double> shift_;              // subtracted from features and outputs: the first row
  Buffer<double> block_, first_, second_;  // rows [features ; outputs], and their sums and products
  std::vector<double> roots_;              // square roots of the weights of the pending rows, which they multiply
  std::vector<float> held_x_;
  std::vector<double> held_y_, held_weights_;
  std::vector<Index> held_;
};

}  // namespace unfold
