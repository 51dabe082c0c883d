#pragma once
/// Accuracy measures of forecasts, as the M4 competition defines them (Makridakis, Spiliotis and Assimakopoulos,
/// International Journal of Forecasting 36, 2020). Missing values (NaN) of `actual` are ignored; the result is NaN if
/// no value remains. Spans of one call have the same length (UsageError).

#include <span>

#include "unfold/base/types.h"

namespace unfold::forecasting {

/// Returns mean |y_t - y_{t-period}| over the history, the scale of MASE; NaN if no pair is observed.
double seasonal_scale(std::span<const double> history, Index period);

/// Returns the mean absolute error divided by `scale`; infinite or NaN if the scale is 0.
double mase(std::span<const double> actual, std::span<const double> forecast, double scale);

}  // namespace unfold::forecasting
