#pragma once
/// The effect of the time of the year on a series of days or weeks, such as a rise before Christmas: a forecaster reads
/// the values without the effect, and the effect at the dates of the forecast is added again. A year is not a whole
/// number of weeks, so the effect follows the dates, not a seasonal period.
///
///     series.yearly = find_yearly_effect(series, horizon);
///     const YearlyEffect effect(series);
///     effect.remove(value, t), ..., effect.restore(forecast, n + h)
///
/// The deviations of the values from a level that changes linearly between the means of successive years are smoothed
/// over a few days or weeks. The effect at a date is the mean of the smoothed deviations at this date in the other
/// years, multiplied by the regression coefficient, at most 1, of the changes over the horizon on the changes of these
/// means. The width of the smoothing is the one with the largest explained part. There is no effect if the coefficient
/// is less than two standard errors above 0, where only changes over separate horizons count as independent. Width and
/// coefficient are determined from the whole series, like its seasonal period, and used at all origins of a backtest.
/// If all values are positive, deviations are relative to the level.

#include <vector>

#include "model/forecast/series.h"

namespace unfold::forecasting {

/// Returns the width and the coefficient for forecasts of `horizon` steps; `series.yearly` is not used.
YearlySmoothing find_yearly_effect(const UnivariateSeries& series, Index horizon);

class YearlyEffect {
 public:
  /// Uses `series.yearly`. There is no effect if the values cover less than a year.
  explicit YearlyEffect(const UnivariateSeries& series);
  /// Returns the value at a position without the effect, and the opposite; positions may be after the end.
  double remove(double value, Index position) const;
  double restore(double value, Index position) const;
  /// Returns the factor of the deviations of a forecast.
  double scale(Index position) const { return relative_ ? 1 + effect(position) : 1; }
  /// Returns the seasonal period of the values without the effect: that of the series, or a week if that is the year.
  static Index inner_period(const UnivariateSeries& series);

 private:
  friend YearlySmoothing find_yearly_effect(const UnivariateSeries& series, Index horizon);
  static Index steps_per_year(const UnivariateSeries& series);
  void set_deviations(const UnivariateSeries& series);
  std::vector<double> level(const std::vector<double>& filled) const;
  YearlySmoothing smoothing_for(Index horizon) const;
  double effect(Index position) const;
  Index same_date(Index day) const;
  double smoothed(Index position, Index width) const;
  double other_years(Index position, Index width) const;

  std::vector<Index> days_;          ///< UnivariateSeries::days
  Index count_ = 0, year_ = 0;       ///< number of values; steps of a year
  std::vector<double> deviations_;   ///< NaN: missing
  std::vector<double> sums_, seen_;  ///< of the deviations before each position, and their number
  bool relative_ = false;
  YearlySmoothing smoothing_;
};

}  // namespace unfold::forecasting
