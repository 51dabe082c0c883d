#include "model/forecast/measures.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

void check_lengths(std::span<const double> actual, std::span<const double> forecast) {
  if (actual.size() != forecast.size())
    throw UsageError("forecast measure: " + std::to_string(actual.size()) + " actual values, but " +
                     std::to_string(forecast.size()) + " forecasts; their numbers must be equal");
}

/// Returns the mean of term(t) over the observed values.
template <class Term>
double mean_over_observed(std::span<const double> actual, Term term) {
  double sum = 0, count = 0;
  for (std::size_t t = 0; t < actual.size(); ++t)
    if (!std::isnan(actual[t])) sum += term(t), ++count;
  return sum / count;
}

}  // namespace

double seasonal_scale(std::span<const double> history, Index period) {
  double sum = 0, count = 0;
  for (std::size_t t = at(std::max<Index>(1, period)); t < history.size(); ++t) {
    const double d = std::fabs(history[t] - history[t - at(std::max<Index>(1, period))]);
    if (!std::isnan(d)) sum += d, ++count;
  }
  return sum / count;
}

double mase(std::span<const double> actual, std::span<const double> forecast, double scale) {
  check_lengths(actual, forecast);
  return mean_over_observed(actual, [&](std::size_t t) { return std::fabs(actual[t] - forecast[t]); }) / scale;
}

double smape(std::span<const double> actual, std::span<const double> forecast) {
  check_lengths(actual, forecast);
  return mean_over_observed(actual, [&](std::size_t t) {
    const double size = std::fabs(actual[t]) + std::fabs(forecast[t]);
    return size > 0 ? 200 * std::fabs(actual[t] - forecast[t]) / size : 0.0;
  });
}

double owa(double mean_smape, double mean_mase, double naive2_mean_smape, double naive2_mean_mase) {
  return 0.5 * (mean_smape / naive2_mean_smape + mean_mase / naive2_mean_mase);
}

double msis(std::span<const double> actual, std::span<const double> lower, std::span<const double> upper, double alpha,
            double scale) {
  check_lengths(actual, lower);
  check_lengths(actual, upper);
  return mean_over_observed(actual,
                            [&](std::size_t t) {
                              const double outside =
                                  std::max(0.0, lower[t] - actual[t]) + std::max(0.0, actual[t] - upper[t]);
                              return upper[t] - lower[t] + 2 / alpha * outside;
                            }) /
         scale;
}

double pinball_loss(std::span<const double> actual, std::span<const double> quantile, double probability) {
  check_lengths(actual, quantile);
  return mean_over_observed(actual, [&](std::size_t t) {
    const double d = actual[t] - quantile[t];
    return d >= 0 ? probability * d : (probability - 1) * d;
  });
}

}  // namespace unfold::forecasting
