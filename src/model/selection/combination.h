#pragma once
/// Combination of the forecasts of several members, with weights from their backtest, and prediction intervals that are
/// calibrated on the held-out values of the same backtest.
///
/// Weights are proportional to error^-4 over the members whose error is at most 1.5 times the smallest one (at most six
/// members), and 0 for the others. If the combination was worse than seasonal-naive in the backtest, half of the weight
/// goes to seasonal-naive.
///
/// Intervals (split conformal prediction): the score of a held-out value is its distance from the combined forecast
/// divided by the combined half-width of that horizon, and the interval of probability c has the half-width times the
/// ceil((n + 1) c)-th smallest of the n scores. The forecast at an origin uses weights from the other origins. With few
/// origins the quantile of the scores is averaged geometrically with a reference: that of a normal distribution, or,
/// if there are several series, that of all their scores at the same horizon.

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

/// Quantiles of the scores, from which the intervals are computed.
class ScoreQuantiles {
 public:
  /// `all`: per horizon, the scores of all series; used as the reference if there are at least `kLeastPool` series.
  ScoreQuantiles(std::vector<std::vector<double>> all, Index series, std::vector<double> coverage);
  /// Returns the factors of the half-widths, [level][horizon], of a series with this backtest.
  std::vector<std::vector<double>> factors(const CombinationBacktest& own, Index horizon) const;

 private:
  std::vector<double> coverage_, normal_;
  std::vector<std::vector<double>> pooled_;  ///< [horizon][level]; empty: the normal distribution is the reference
};

}  // namespace unfold::forecasting
