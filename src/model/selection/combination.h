#pragma once
/// Combination of the forecasts of several members, with weights from their backtest.
///
/// Weights are proportional to error^-4 (error^-8 with many series) for the members (at most six) whose error is at
/// most 1.5 times the smallest error, and 0 for the others. The errors of a member are averaged with its typical
/// errors: those on the other series if there are many, otherwise those of `usual_errors`; in the latter case, a member
/// whose own error is more than twice the smallest one has the weight 0 (if at least three origins and 100 values are
/// compared). If the combination was worse than seasonal-naive in the backtest, part of the weight goes to
/// seasonal-naive: a quarter with five origins.

#include <span>
#include <vector>

#include "model/selection/backtest.h"

namespace unfold::forecasting {

/// The weight of a member is proportional to its error to the power of minus this. Errors that are averaged over many
/// series are less noisy and permit larger differences.
inline constexpr int kExponent = 4, kPanelExponent = 8;

/// Returns the weights of members with these errors (+infinity: failed); their sum is 1, or 0 if all members failed.
std::vector<double> combination_weights(std::span<const double> errors, int exponent = kExponent);

/// Returns the weighted mean of points and widths. Members with weight 0 may be empty.
PointsAndWidths combine(std::span<const PointsAndWidths* const> members, std::span<const double> weights);

/// Results of the backtest for the combination.
struct CombinationBacktest {
  std::vector<double> weights;  ///< weights of the forecast from the end of the series
  double error = 0;             ///< MASE of the combinations with weights from the other origins, or from the only one
  double loss = 0;              ///< like MemberBacktest::loss
  Index origins = 0;
  std::vector<double> biases;  ///< mean error (value minus forecast) of each origin, in the units of `error`
  std::vector<std::vector<double>> scores;  ///< for each horizon, one score for each origin with a held-out value
};
struct CombinationOptions {
  Index reference = -1;  ///< index of the member that the combination should at least match; -1: none
  /// Typical errors of the members, relative to each other (panel.h); empty: unknown. The errors of a series are
  /// averaged geometrically with them, like the errors of additional origins.
  std::span<const double> typical = {};
  int exponent = kExponent;
};
CombinationBacktest backtest_combination(std::span<const MemberBacktest> members, const UnivariateSeries& series,
                                         std::span<const Index> origins, Index horizon,
                                         const CombinationOptions& options);

}  // namespace unfold::forecasting
