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

}  // namespace unfold::forecasting
