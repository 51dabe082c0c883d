#pragma once
/// Classical decomposition of a series into trend, seasonality and remainder, and the tests that determine the number
/// of differences. Series have no missing values here (`interpolate_missing`).

#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold::forecasting {

struct Decomposition {
  std::vector<double> trend;   ///< centered moving mean over one period; NaN in the first and last m / 2 values
  std::vector<double> season;  ///< m seasonal effects, element t mod m for position t; their mean is 1 (multiplicative)
                               ///< or their sum 0 (additive)
};

/// Requires at least two periods. The multiplicative form requires positive values.
Decomposition decompose(std::span<const double> values, Index period, bool multiplicative);

/// Returns max(0, 1 - Var(rest) / Var(season + rest)) of the additive decomposition, with seasonal effects that may
/// change slowly: the effect is the mean of the detrended values of a season over the five nearest years (Wang, Smith
/// and Hyndman 2006). Returns 0 if there are fewer values than two periods plus one, or if only rounding errors remain.
double seasonal_strength(std::span<const double> values, Index period);

/// Returns the probability of seasonal means that differ at least as much as those of the values if there is no season:
/// the F test of equal means of the additive decomposition, with the values minus their trend. For random walks and
/// autoregressions, a probability below 0.01 is up to six times as frequent as for independent values. Returns 1 if
/// there are fewer than three periods, or if only rounding errors remain.
double equal_seasons_probability(std::span<const double> values, Index period);

/// Returns the statistic of Kwiatkowski, Phillips, Schmidt and Shin (1992) for a constant level, with floor(3 sqrt(n) /
/// 13) lags of the Bartlett window; 0 for a constant series. Values above 0.463 reject stationarity at 5 %.
double kpss_statistic(std::span<const double> values);

/// Returns the number of seasonal differences, 0 or 1: 1 if the seasonal strength exceeds 0.64 and a period and 3
/// values would remain.
Index seasonal_differences(std::span<const double> values, Index period);

/// Returns the number of first differences: KPSS tests are repeated while they reject (at most 2) and more than 3
/// values remain.
Index first_differences(std::span<const double> values);

}  // namespace unfold::forecasting
