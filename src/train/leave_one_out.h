#pragma once
/// Ridge regression on few rows with many features, with lambda selected by exact leave-one-out residuals:
///
///   const LeaveOneOutFit fit = fit_leave_one_out(x, y, {}, team);       // y ~ x V + b
///
/// Features are standardized first. V minimizes |Z V + 1 b - Y|^2 + lambda' |V|^2 for the standardized features Z,
/// where lambda' = lambda * (mean of the diagonal of Z Z'). With G = Z Z' + lambda' I and dual weights a, the residual
/// of a row, predicted from all others, is a_i / (G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1))_ii (Golub, Heath & Wahba 1979;
/// the intercept is not penalized). With weights w of the rows, the diagonal matrix lambda' / w takes the place of
/// lambda' I. Only the means and deviations of the features are computed from all rows.
///
/// Time is rows^2 times features, plus rows^3 for each lambda; memory is rows^2 in addition to the features. All sums
/// are in double, in a fixed order; results do not depend on the number of threads.

#include <span>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"

namespace unfold {

struct LeaveOneOutOptions {
  double lambda = 0;                     ///< 0: selected from powers of sqrt(10)
  std::span<const double> weights = {};  ///< weights of the squared errors of the rows, above 0; empty: all are 1
};

struct LeaveOneOutFit {
  std::vector<double> weights;   ///< [features x outputs], for the unscaled features
  std::vector<double> bias;      ///< [outputs]
  std::vector<double> left_out;  ///< [rows x outputs]: each row predicted from all other rows
  double lambda = 0;
  double mean_square = 0;  ///< mean square of the residuals of left_out
};

/// x [rows x features], y [rows x outputs]. Throws DataError for fewer than three rows, if no feature varies, and if a
/// feature is not finite.
LeaveOneOutFit fit_leave_one_out(Matrix<const float> x, Matrix<const double> y, const LeaveOneOutOptions& options,
                                 Team& team);

/// Returns the factor of the scores [rows x classes] that maximizes the likelihood of the labels under softmax, with
/// smoothed labels (Platt 1999), so that separable scores give a finite factor. One class gives 1. `weights`: the
/// weights of the rows; empty: all are 1.
double calibrated_factor(Matrix<const double> scores, const std::vector<Index>& labels,
                         std::span<const double> weights = {});

}  // namespace unfold
