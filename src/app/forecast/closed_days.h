#pragma once
/// Forecasts of weekdays on which a series always has the same value, such as the days on which a shop is closed.
///
/// A step stays at a value if all observed values of its weekday and time of day, at least eight, are equal to it, and
/// if this is not chance: with the share q of this value on the other days, the probability of n equal values is q^n,
/// and 7 q^n must be at most 5 %. Every backtest of this rule has the error 0, so the conformal interval of n values
/// has the width 0 up to the probability n / (n + 1); wider intervals are those of the other days. The rule is for
/// steps of a day or less. If no value is negative, the limits are at least 0.

#include <string>

#include "app/forecast/series_table.h"
#include "model/selection/automatic.h"

namespace unfold {

/// Sets the means and the intervals of such steps. `coverage`: the probabilities of the intervals. Returns a note;
/// empty if there are no such steps.
std::string keep_closed_days(const TableSeries& series, const std::vector<double>& coverage,
                             forecasting::AutomaticForecast& forecast);

}  // namespace unfold
