#pragma once
/// The effect of the day of the week on a series with steps shorter than a day, such as low electricity demand on
/// Sunday afternoons: a forecaster with a season of a day reads the values without the effect, and the effect at the
/// times of the forecast is added again.
///
///     series.weekly.share = find_weekly_effect(series);
///     const WeeklyEffect effect(series);
///     effect.remove(value, t), ..., effect.restore(forecast, n + h)
///
/// The deviations of the last ten weeks from their moving mean over a week are averaged for each time of the week. The
/// effect is the difference of these means from the means for each time of the day, multiplied by 1 - 1 / F. F compares
/// the variance of the differences with the variance of the deviations among the weeks and is about 1 if the days of
/// the week do not differ. If F is less than 2, the effect is 0. F is determined from the whole series, like its
/// seasonal period, and the means at each origin of a backtest from the values before it. If no value is negative,
/// deviations are relative to the moving mean.

#include <vector>

#include "model/forecast/series.h"

namespace unfold::forecasting {

/// Returns 1 - 1 / F; 0 if F is less than 2, if the steps of a week are unknown, or if the series has fewer than three
/// weeks.
double find_weekly_effect(const UnivariateSeries& series);

class WeeklyEffect {
 public:
  /// Uses `series.weekly`. Throws DataError if there are fewer than two weeks of values.
  explicit WeeklyEffect(const UnivariateSeries& series);
  /// Returns the value at a position without the effect, and the opposite; positions may be after the end.
  double remove(double value, Index position) const { return value - effect(position); }
  double restore(double value, Index position) const { return value + effect(position); }

 private:
  friend double find_weekly_effect(const UnivariateSeries& series);
  double effect(Index position) const;

  Index first_ = 0;                  ///< position of the first value of `differences_`
  std::vector<double> levels_;       ///< moving mean from `first_`; all 1 if deviations are not relative
  std::vector<double> differences_;  ///< means for each time of the week minus means for each time of the day
  double between_ = 0, within_ = 0;  ///< variances whose ratio is F
};

}  // namespace unfold::forecasting
