#pragma once
/// Combination of the forecasts of several members, with weights from their backtest.
///
/// Weights are proportional to error^-4 over the members whose error is at most 1.5 times the smallest one (at most six
/// members), and 0 for the others. If the combination was worse than seasonal-naive in the backtest, half of the weight
/// goes to seasonal-naive.

#include <span>
#include <vector>

#include "model/selection/backtest.h"

namespace unfold::forecasting {

/// Weights of members with these errors (+infinity: failed); their sum is 1, or 0 if all members failed.
std::vector<double> combination_weights(std::span<const double> errors);

/// Weighted mean of points and widths. Members with weight 0 may be empty.
PointsAndWidths combine(std::span<const PointsAndWidths* const> members, std::span<const double> weights);

/// Results of the backtest for the combination.
struct CombinationBacktest {
  std::vector<double> weights;  ///< for the forecast from the end of the series
  double error = 0;             ///< MASE of the combinations with weights from the other origins
  Index origins = 0;
  std::vector<std::vector<double>> scores;  ///< for each horizon, one for each origin with a held-out value
};
/// `reference`: index of the member that the combination should not be worse than; -1: none.
CombinationBacktest backtest_combination(std::span<const MemberBacktest> members, const UnivariateSeries& series,
                                         std::span<const Index> origins, Index horizon, Index reference);

}  // namespace unfold::forecasting
