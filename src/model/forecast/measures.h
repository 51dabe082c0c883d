#pragma once
/// Accuracy measures of forecasts, as the M4 competition defines them (Makridakis, Spiliotis and Assimakopoulos,
/// International Journal of Forecasting 36, 2020). Missing values (NaN) of `actual` are ignored; the result is NaN if
/// no value remains. Spans of one call have the same length (UsageError).

#include <span>

#include "unfold/base/types.h"

namespace unfold::forecasting {

/// Returns mean |y_t - y_{t-period}| over the history, the scale of MASE and MSIS; NaN if no pair is observed.
double seasonal_scale(std::span<const double> history, Index period);

/// Returns the mean absolute error divided by `scale`; infinite or NaN if the scale is 0.
double mase(std::span<const double> actual, std::span<const double> forecast, double scale);

/// mean 200 |y - f| / (|y| + |f|), in percent; a term with y = f = 0 is 0.
double smape(std::span<const double> actual, std::span<const double> forecast);

/// 1/2 (sMAPE / sMAPE of Naive2 + MASE / MASE of Naive2), where each measure is the mean over all series.
double owa(double mean_smape, double mean_mase, double naive2_mean_smape, double naive2_mean_mase);

/// Returns the mean scaled interval score of the central interval of probability 1 - alpha: mean[(u - l) + (2 /
/// alpha)(l - y)_+ + (2 / alpha)(y - u)_+] / scale.
double msis(std::span<const double> actual, std::span<const double> lower, std::span<const double> upper, double alpha,
            double scale);

/// Returns the mean pinball loss of a forecast of the quantile `probability` (p): p (y - q) if y >= q, else (1 - p)(q -
/// y).
double pinball_loss(std::span<const double> actual, std::span<const double> quantile, double probability);

}  // namespace unfold::forecasting
