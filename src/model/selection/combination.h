#pragma once
/// Combination of the forecasts of several members, with weights from their backtest.
///
/// Weights are proportional to error^-4 for the members (at most six) whose error is at most 1.5 times the smallest
/// error, and 0 for the others. If the combination was worse than seasonal-naive in the backtest, half of the weight
/// goes to seasonal-naive.

#include <span>
#include <vector>

#include "model/selection/backtest.h"

namespace unfold::forecasting {

/// Returns the weights of members with these errors (+infinity: failed); their sum is 1, or 0 if all members failed.
std::vector<double> combination_weights(std::span<const double> errors);

/// Returns the weighted mean of points and widths. Members with weight 0 may be empty.
PointsAndWidths combine(std::span<const PointsAndWidths* const> members, std::span<const double> weights);

/// Results of the backtest for the combination.
struct CombinationBacktest {
  std::vector<double> weights;  ///< weights of the forecast from the end of the series
  double error = 0;             ///< MASE of the combinations with weights from the other origins
  Index origins = 0;
  std::vector<std::vector<double>> scores;  ///< for each horizon, one score for each origin with a held-out value
};
/// `reference` is the index of the member that the combination should at least match; -1: none.
CombinationBacktest backtest_combination(std::span<const MemberBacktest> members, const UnivariateSeries& series,
                                         std::span<const Index> origins, Index horizon, Index reference);

}  // namespace unfold::forecasting
