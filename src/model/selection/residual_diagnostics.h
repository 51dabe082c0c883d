#pragma once
/// Tests of what a forecast does not describe, from the one-step residuals of its members and the errors of its
/// backtest.
///
///     const ResidualDiagnostics d = diagnose_residuals(residuals, period, errors);
///     d.correlation.p, d.notes()
///
/// Residuals are in-sample errors one step ahead, which are smaller than errors of forecasts; they show correlation,
/// unequal spread and heavy tails, but not the size of errors. The bias is tested with the errors of the backtest. The
/// null distributions of the tests are approximate, so a problem is noted only if it is also large enough to matter.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold::forecasting {

/// A statistic and the probability of a value at least as extreme if there is no problem; NaN if it is not computed.
struct TestResult {
  double statistic = std::numeric_limits<double>::quiet_NaN(), p = std::numeric_limits<double>::quiet_NaN();
};

struct ResidualDiagnostics {
  Index count = 0;              ///< number of residuals; with fewer than kLeastResiduals, only the bias is computed
  TestResult correlation = {};  ///< Ljung and Box (1978): Q = n (n + 2) sum_k r_k^2 / (n - k), chi-squared
  Index lags = 0;               ///< number of autocorrelations r_k in `correlation`, an even number
  Index largest_lag = 0;        ///< the lag of the largest absolute autocorrelation
  double largest_correlation = 0;
  TestResult spread = {};                ///< rank correlation (Spearman) of the absolute residuals with time
  double spread_ratio = TestResult{}.p;  ///< mean absolute residual of the last third / of the first third
  TestResult normality = {};             ///< Jarque and Bera (1980): n (skewness^2 / 6 + kurtosis^2 / 24)
  double skewness = TestResult{}.p, excess_kurtosis = TestResult{}.p;
  TestResult bias_test = {};                    ///< Student's t of the errors over the origins
  double bias = TestResult{}.p;                 ///< mean of the errors over the origins
  double mean_absolute_error = TestResult{}.p;  ///< of the backtest, in the same units

  /// Returns one sentence for each problem; empty if there is none.
  std::vector<std::string> notes() const;
  bool is_correlated() const;
  bool is_biased() const;
  bool has_uneven_spread() const;
  bool has_heavy_tails() const;
};

/// `residuals`: NaN where they are missing. `errors`: mean error (value minus forecast) after each origin, divided by
/// the scale of the errors, and `mean_absolute_error` likewise. The Ljung-Box test uses two seasons or ten lags, at
/// most a fifth of the residuals.
ResidualDiagnostics diagnose_residuals(std::span<const double> residuals, Index period, std::span<const double> errors,
                                       double mean_absolute_error);
inline constexpr Index kLeastResiduals = 20;

}  // namespace unfold::forecasting
