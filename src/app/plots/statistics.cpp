#include "app/plots/statistics.h"

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) throw UsageError("a quantile requires at least one value");
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double share = place - static_cast<double>(below);
  return share == 0 ? values[below] : values[below] + share * (values[above] - values[below]);
}

Quartiles quartiles(const std::vector<double>& values) {
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

MeanAndSpread mean_and_spread(const std::vector<double>& values) {
  if (values.size() < 2) throw UsageError("a spread requires at least two values");
  const auto n = static_cast<double>(values.size());
  MeanAndSpread result;
  for (const double x : values) result.mean += x / n;
  double squares = 0;
  for (const double x : values) squares += (x - result.mean) * (x - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  result.error = result.deviation / std::sqrt(n);
  return result;
}

}  // namespace unfold
