#pragma once
/// One univariate series as the classical forecasters read it, and helpers on plain vectors of its values.
///
///     UnivariateSeries series{.values = values};
///     series.period = detect_period(values, calendar_periods(3600));
///
/// A missing value is NaN. Infinite values are not allowed; the functions that read a series throw DataError with the
/// position of the first one.

#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold::forecasting {

/// How the effect of the time of the year is computed (model/selection/yearly_effect.h).
struct YearlySmoothing {
  Index width = 0;   ///< the deviations of 2 width + 1 steps are averaged
  double share = 0;  ///< factor of the mean deviation, at most 1; 0: there is no effect
};

/// The effect of the day of the week on a series with steps shorter than a day (model/selection/weekly_effect.h).
struct WeeklySeason {
  Index day = 0, week = 0;  ///< steps of a day and of a week; 0: the steps are longer or unknown
  double share = 0;         ///< factor of the mean differences between the days of the week, at most 1; 0: no effect
};

struct UnivariateSeries {
  std::vector<double> values = {};  ///< NaN: missing
  Index period = 1;                 ///< seasonal period m in steps; 1: no season
  /// Covariates that are known in advance, each with one number for every value and for every step to forecast. Only
  /// members of a backtest with the suffix "+known" use them (model/selection/covariate_effect.h).
  std::vector<std::vector<double>> known = {};
  /// The day of every value and of every step to forecast: 366 times the calendar year, plus the day of the year as in
  /// a leap year. Only members with the suffix "+yearly" use it (model/selection/yearly_effect.h). Empty: unknown, or
  /// the step is less than a day.
  std::vector<Index> days = {};
  YearlySmoothing yearly = {};
  /// Only members with the suffix "+weekly" use it.
  WeeklySeason weekly = {};
};

/// Replaces missing values. With a period m > 1 and at least two observed values in every season, the series is first
/// decomposed into seasonal means (of the values minus a centered moving level) and a remainder, and the remainder is
/// interpolated; otherwise the values are interpolated. Interpolation is linear between the nearest observed neighbors
/// and constant before the first and after the last observed value. Throws DataError if no value is observed.
std::vector<double> interpolate_missing(std::span<const double> values, Index period = 1);

/// Returns y_t - y_{t-lag} for t = lag, ..., n-1 (empty if n <= lag); NaN where either value is missing.
std::vector<double> difference(std::span<const double> values, Index lag = 1);

/// Returns the autocorrelations r_0 = 1, r_1, ..., r_max_lag of a series without missing values, with the common
/// divisor n; all 0 after r_0 if the series is constant. max_lag is limited to n - 1.
std::vector<double> autocorrelations(std::span<const double> values, Index max_lag);

/// Returns whether the autocorrelation at `lag` exceeds its two-sided 90 % limit under the hypothesis that the
/// autocorrelations from this lag on are 0 (Bartlett 1946; the seasonality test of the M competitions): |r_m| > 1.645
/// sqrt((1 + 2 sum_{k<m} r_k^2) / n).
bool significant_autocorrelation(std::span<const double> autocorrelations, Index lag, Index n);

/// Returns the seasonal periods that a calendar suggests for a step of `seconds`, the shortest first. These are a
/// minute, an hour, a day and a week, where this is an integer number of steps, and, for steps of a day or more, a year
/// (rounded). Only periods from 2 to 10080 are returned. A step of 28 to 31 days counts as a month, a step of 89 to 92
/// days as a quarter.
std::vector<Index> calendar_periods(double seconds);

/// Returns the seasonal period of the values, or 1 if no period is significant. The values are interpolated and a
/// linear trend is removed; if the result has no period, or is still dominated by slow movement (r_1 > 0.9), the
/// differences are searched in the same way. A period m must repeat at least three times, and its autocorrelation must
/// be a positive local maximum and pass a test: `significant_autocorrelation` for candidates; for a free search
/// (without candidates: every m from 2 to n / 3), the limit at the level 0.1 divided by the number of lags. Among the
/// periods that pass, the first one whose autocorrelation is at least 0.9 times the largest is chosen, so a period is
/// preferred to its multiples. Noise can hide the maximum, so a candidate of at least 24 steps also passes if the
/// autocorrelation of the values rises by 0.2 from a shorter lag to it; it replaces a shorter period of the differences
/// that divides it. The autocorrelations rarely show a smooth season in a few years, so if no period passes, the first
/// candidate of at most 12 steps is chosen whose seasonal means differ (`equal_seasons_probability` below 0.01).
Index detect_period(std::span<const double> values, std::span<const Index> candidates = {});

}  // namespace unfold::forecasting
