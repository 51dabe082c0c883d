#include "model/forecast/decomposition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/forecast/series.h"
#include "model/forecast/tail_probability.h"

namespace unfold::forecasting {
namespace {

constexpr double kUnknownTrend = std::numeric_limits<double>::quiet_NaN();
constexpr double kSeasonalStrength = 0.64, kKpssCritical = 0.463;

std::vector<double> moving_mean(std::span<const double> y, Index m) {
  const Index n = static_cast<Index>(y.size()), half = m / 2;
  std::vector<double> trend(y.size(), kUnknownTrend);
  for (Index t = half; t + half < n; ++t) {
    double sum = 0;
    for (Index k = -half; k <= half; ++k) sum += (m % 2 == 0 && (k == -half || k == half) ? 0.5 : 1) * y[at(t + k)];
    trend[at(t)] = sum / static_cast<double>(m);
  }
  return trend;
}

double variance(std::span<const double> x) {
  double mean = 0, squares = 0;
  for (const double v : x) mean += v;
  mean /= static_cast<double>(x.size());
  for (const double v : x) squares += (v - mean) * (v - mean);
  return squares / static_cast<double>(x.size());
}

}  // namespace

Decomposition decompose(std::span<const double> y, Index period, bool multiplicative) {
  Decomposition d{moving_mean(y, period), std::vector<double>(at(period))};
  std::vector<double> count(at(period));
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (std::isnan(d.trend[t])) continue;
    d.season[t % at(period)] += multiplicative ? y[t] / d.trend[t] : y[t] - d.trend[t];
    ++count[t % at(period)];
  }
  double mean = 0;
  for (std::size_t j = 0; j < at(period); ++j) {
    d.season[j] = count[j] > 0 ? d.season[j] / count[j] : (multiplicative ? 1 : 0);
    mean += d.season[j] / static_cast<double>(period);
  }
  for (double& s : d.season) s = multiplicative ? s / mean : s - mean;
  return d;
}

double seasonal_strength(std::span<const double> y, Index period) {
  constexpr Index kYears = 2;  // number of years on either side
  if (period < 2 || static_cast<Index>(y.size()) < 2 * period + 1) return 0;
  std::vector<double> detrended;
  const std::vector<double> trend = moving_mean(y, period);
  for (std::size_t t = 0; t < y.size(); ++t)
    if (!std::isnan(trend[t])) detrended.push_back(y[t] - trend[t]);
  const Index n = static_cast<Index>(detrended.size());
  std::vector<double> rest(detrended.size());
  for (Index t = 0; t < n; ++t) {
    double sum = 0, count = 0;
    // At the ends the window is moved inward, so it always covers the same number of years (if there are enough years).
    const Index years = (n - 1 - t % period) / period + 1, year = t / period;
    const Index first = std::clamp<Index>(year - kYears, 0, std::max<Index>(0, years - 2 * kYears - 1));
    for (Index k = first; k < std::min(years, first + 2 * kYears + 1); ++k)
      sum += detrended[at(k * period + t % period)], ++count;
    rest[at(t)] = detrended[at(t)] - sum / count;
  }
  double scale = 0;
  for (const double x : y) scale = std::max(scale, std::fabs(x));
  const double whole = variance(detrended);
  if (!(whole > 1e-20 * scale * scale)) return 0;
  // The mean of k values contains the remainder with weight 1/k, which reduces the apparent remainder by (k - 1) / k.
  const double k = std::min<double>(2 * kYears + 1, static_cast<double>(n) / static_cast<double>(period));
  if (k <= 1) return 0;
  return std::max(0.0, 1 - variance(rest) * (k / (k - 1)) / whole);
}

double equal_seasons_probability(std::span<const double> y, Index period) {
  if (period < 2 || static_cast<Index>(y.size()) < 3 * period) return 1;
  std::vector<double> rest = moving_mean(y, period), means(at(period)), counts(at(period));
  double scale = 0, mean = 0, count = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    scale = std::max(scale, std::fabs(y[t]));
    rest[t] = y[t] - rest[t];
    if (std::isnan(rest[t])) continue;
    means[t % at(period)] += rest[t], ++counts[t % at(period)];
    mean += rest[t], ++count;
  }
  mean /= count;
  double between = 0, within = 0;
  for (std::size_t j = 0; j < means.size(); ++j) {
    means[j] /= counts[j];
    between += counts[j] * (means[j] - mean) * (means[j] - mean);
  }
  for (std::size_t t = 0; t < y.size(); ++t)
    if (const double r = rest[t] - means[t % at(period)]; !std::isnan(r)) within += r * r;
  if (!(between > 1e-20 * scale * scale)) return 1;
  if (!(within > 0)) return 0;
  const Index freedom = static_cast<Index>(count) - period;
  const double numerator = between / static_cast<double>(period - 1),
               denominator = within / static_cast<double>(freedom);
  return f_tail(numerator / denominator, period - 1, freedom);
}

double kpss_statistic(std::span<const double> y) {
  const Index n = static_cast<Index>(y.size());
  const Index lags = static_cast<Index>(3 * std::sqrt(static_cast<double>(n)) / 13);
  double mean = 0;
  for (const double x : y) mean += x / static_cast<double>(n);
  double sum = 0, partial = 0, scale = 0;
  std::vector<double> e(y.size());
  for (std::size_t t = 0; t < y.size(); ++t) {
    e[t] = y[t] - mean;
    sum += e[t];
    partial += sum * sum;
    scale = std::max(scale, std::fabs(y[t]));
  }
  double spectrum = 0;
  for (Index k = 0; k <= lags; ++k) {
    double c = 0;
    for (Index t = k; t < n; ++t) c += e[at(t)] * e[at(t - k)];
    spectrum += (k == 0 ? 1 : 2 * (1 - static_cast<double>(k) / static_cast<double>(lags + 1))) * c;
  }
  const double count = static_cast<double>(n);
  spectrum /= count;
  return spectrum > 1e-20 * scale * scale ? partial / (count * count * spectrum) : 0;
}

Index seasonal_differences(std::span<const double> y, Index period) {
  if (static_cast<Index>(y.size()) < 2 * period + 3) return 0;
  return seasonal_strength(y, period) > kSeasonalStrength ? 1 : 0;
}

Index first_differences(std::span<const double> y) {
  std::vector<double> w(y.begin(), y.end());
  Index d = 0;
  while (d < 2 && w.size() > 4 && kpss_statistic(w) > kKpssCritical) {
    w = difference(w);
    ++d;
  }
  return d;
}

}  // namespace unfold::forecasting
