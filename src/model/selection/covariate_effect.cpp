#include "model/selection/covariate_effect.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/forecast/decomposition.h"
#include "numerics/moments.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr double kRelativePenalty = 1e-6;
constexpr Index kEquationsPerCoefficient = 3;

double observed_mean(std::span<const double> values) {
  double sum = 0, count = 0;
  for (const double x : values)
    if (!std::isnan(x)) sum += x, ++count;
  return count > 0 ? sum / count : 0;
}

void center(std::vector<double>& values) {
  const double mean = observed_mean(values);
  for (double& x : values) x -= mean;
}

}  // namespace

CovariateEffect::CovariateEffect(const UnivariateSeries& series)
    : coefficients_(series.known.size(), 0), means_(series.known.size(), 0) {
  const std::size_t n = series.values.size(), count = series.known.size();
  const std::vector<double> filled = interpolate_missing(series.values);
  const Index seasonal = seasonal_differences(filled, series.period) > 0 ? series.period : 0;
  const bool first = first_differences(seasonal > 0 ? difference(filled, seasonal) : filled) > 0;
  const auto differences = [&](std::vector<double> values) {
    if (seasonal > 0) values = difference(values, seasonal);
    if (first) values = difference(values);
    center(values);
    return values;
  };
  std::vector<std::vector<double>> x;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> values(series.known[k].begin(), series.known[k].begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                      n, series.known[k].size())));
    values.resize(n, std::nan(""));
    means_[k] = observed_mean(values);
    for (double& v : values) v = std::isnan(v) ? 0 : v - means_[k];
    x.push_back(differences(std::move(values)));
  }
  const std::vector<double> y = differences(series.values);
  std::vector<double> products(count * count), targets(count);
  Index equations = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (std::isnan(y[t])) continue;
    ++equations;
    for (std::size_t i = 0; i < count; ++i) {
      targets[i] += x[i][t] * y[t];
      for (std::size_t j = 0; j <= i; ++j) products[i * count + j] += x[i][t] * x[j][t];
    }
  }
  if (equations < kEquationsPerCoefficient * static_cast<Index>(count)) return;
  for (std::size_t i = 0; i < count; ++i)
    products[i * count + i] += kRelativePenalty * products[i * count + i] + 1e-12;  // 1e-12 keeps the matrix positive
                                                                                    // definite for a constant covariate
  const Index size = static_cast<Index>(count);
  if (!cholesky(products.data(), size, size)) return;
  solve_lower(products.data(), size, size, targets.data());
  solve_upper(products.data(), size, size, targets.data());
  coefficients_ = targets;
}

double CovariateEffect::effect(const UnivariateSeries& series, Index position) const {
  double sum = 0;
  for (std::size_t k = 0; k < coefficients_.size(); ++k) {
    if (position >= static_cast<Index>(series.known[k].size()))
      throw DataError("forecast: the known covariates end before position " + std::to_string(position + 1));
    const double x = series.known[k][at(position)];
    if (!std::isnan(x)) sum += coefficients_[k] * (x - means_[k]);
  }
  return sum;
}

}  // namespace unfold::forecasting
