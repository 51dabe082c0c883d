#pragma once
/// Prediction intervals of forecasts, calibrated on the held-out values of a backtest.
///
/// Split conformal prediction: the score of a held-out value is its distance from the combined forecast divided by the
/// combined half-width of that horizon, and the interval of probability c has the half-width times the ceil((n + 1)
/// c)-th smallest of the n scores. The forecast at an origin uses weights from the other origins. With few origins the
/// quantile of the scores is averaged geometrically with a reference: the quantile of a normal distribution or, if
/// there are several series, the quantile of all their scores at the same horizon.

#include <vector>

#include "model/selection/combination.h"

namespace unfold::forecasting {

/// Quantiles of the scores, from which the intervals are computed.
class ScoreQuantiles {
 public:
  /// `all`: per horizon, the scores of all series; used as the reference if there are at least 20 series.
  ScoreQuantiles(std::vector<std::vector<double>> all, Index series, std::vector<double> coverage);
  /// Returns the factors of the half-widths, [level][horizon], of a series with this backtest.
  std::vector<std::vector<double>> factors(const CombinationBacktest& own, Index horizon) const;

 private:
  std::vector<double> coverage_, normal_;
  std::vector<std::vector<double>> pooled_;  ///< [horizon][level]; empty: the normal distribution is the reference
};

}  // namespace unfold::forecasting
