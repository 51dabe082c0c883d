#include "model/forecast/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "model/forecast/decomposition.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

constexpr Index kLongestTested = 12;  // longest period for equal_seasons_probability
constexpr double kSeasonLevel = 0.01;

void check_values(std::span<const double> values) {
  bool observed = false;
  for (std::size_t t = 0; t < values.size(); ++t) {
    if (std::isinf(values[t]))
      throw DataError("series: value " + std::to_string(t + 1) +
                      " is infinite; replace it with a number or a missing value");
    observed = observed || !std::isnan(values[t]);
  }
  if (!observed)
    throw DataError("series: none of its " + std::to_string(values.size()) +
                    " values is observed; at least one is needed");
}

/// Interpolates linearly between observed neighbors; extrapolates with constants.
void interpolate_linearly(std::vector<double>& y) {
  const Index n = static_cast<Index>(y.size());
  Index last = -1;
  for (Index t = 0; t < n; ++t) {
    if (std::isnan(y[at(t)])) continue;
    for (Index u = last + 1; u < t; ++u) {
      const double share = static_cast<double>(u - last) / static_cast<double>(t - last);
      y[at(u)] = last < 0 ? y[at(t)] : y[at(last)] + share * (y[at(t)] - y[at(last)]);
    }
    last = t;
  }
  for (Index u = last + 1; u < n; ++u) y[at(u)] = y[at(last)];
}

/// Returns the mean of each season, over the values minus a moving mean over one period (on the linearly interpolated
/// values); empty if a season has fewer than two observed values.
std::vector<double> seasonal_means(std::span<const double> values, const std::vector<double>& filled, Index m) {
  const Index n = static_cast<Index>(values.size());
  std::vector<double> sum(at(m));
  std::vector<Index> count(at(m));
  for (Index t = 0; t < n; ++t) {
    if (std::isnan(values[at(t)])) continue;
    const Index begin = std::clamp<Index>(t - m / 2, 0, std::max<Index>(0, n - m)), end = std::min(n, begin + m);
    double level = 0;
    for (Index u = begin; u < end; ++u) level += filled[at(u)];
    sum[at(t % m)] += values[at(t)] - level / static_cast<double>(end - begin);
    ++count[at(t % m)];
  }
  for (Index j = 0; j < m; ++j) {
    if (count[at(j)] < 2) return {};
    sum[at(j)] /= static_cast<double>(count[at(j)]);
  }
  return sum;
}

std::vector<double> without_linear_trend(std::vector<double> y) {
  const double n = static_cast<double>(y.size());
  double mean = 0, slope = 0, spread = 0;
  for (const double x : y) mean += x;
  mean /= n;
  for (std::size_t t = 0; t < y.size(); ++t) {
    const double c = static_cast<double>(t) - (n - 1) / 2;
    slope += c * (y[t] - mean);
    spread += c * c;
  }
  if (spread > 0) slope /= spread;
  for (std::size_t t = 0; t < y.size(); ++t) y[t] -= mean + slope * (static_cast<double>(t) - (n - 1) / 2);
  return y;
}

double bartlett_deviation(std::span<const double> r, Index lag, Index n) {
  double sum = 0;
  for (Index k = 1; k < lag; ++k) sum += r[at(k)] * r[at(k)];
  return std::sqrt((1 + 2 * sum) / static_cast<double>(n));
}

/// Returns the period of values without a trend; 1 if no period is significant.
Index period_of_stationary(const std::vector<double>& y, std::span<const Index> candidates, double scale) {
  const Index n = static_cast<Index>(y.size()), longest = n / 3;
  if (longest < 2) return 1;
  double largest = 0;
  for (const double x : y) largest = std::max(largest, std::fabs(x));
  if (!(largest > 1e-12 * scale)) return 1;  // only rounding errors remain
  const std::vector<double> r = autocorrelations(y, longest + 1);
  const double free_limit = normal_quantile(1 - 0.05 / static_cast<double>(longest));

  const auto passes = [&](Index m) {
    if (m < 2 || m > longest || r[at(m)] <= 0) return false;
    if (r[at(m)] < r[at(m - 1)] || r[at(m)] < r[at(m + 1)]) return false;
    return candidates.empty() ? r[at(m)] > free_limit * bartlett_deviation(r, m, n)
                              : significant_autocorrelation(r, m, n);
  };
  std::vector<Index> passed;
  for (const Index m : candidates)
    if (passes(m)) passed.push_back(m);
  for (Index m = 2; candidates.empty() && m <= longest; ++m)
    if (passes(m)) passed.push_back(m);
  std::sort(passed.begin(), passed.end());
  double best = 0;
  for (const Index m : passed) best = std::max(best, r[at(m)]);
  for (const Index m : passed)
    if (r[at(m)] >= 0.9 * best) return m;
  return 1;
}

/// Returns a long period of a calendar whose autocorrelation rises clearly above that of a shorter lag and is, up to
/// twice the standard error of white noise, the largest one near it; 1 if there is none. Noise can make the
/// autocorrelation of an adjacent lag slightly larger.
Index clear_period(const std::vector<double>& y, std::span<const Index> candidates) {
  constexpr Index kShortest = 24, kNeighborhood = 8;
  constexpr double kLeastRise = 0.2, kShareOfBest = 0.9;
  const Index n = static_cast<Index>(y.size());
  Index longest = 0;
  for (const Index m : candidates)
    if (m >= kShortest && m <= n / 3) longest = std::max(longest, m);
  if (longest == 0) return 1;
  const std::vector<double> r = autocorrelations(y, longest + longest / kNeighborhood);
  const double tolerance = 2 / std::sqrt(static_cast<double>(n));
  const auto passes = [&](Index m) {
    if (m < kShortest || m > longest || r[at(m)] <= 0 || !significant_autocorrelation(r, m, n)) return false;
    const std::span<const double> shorter = std::span(r).subspan(1, at(m - 1));
    const std::span<const double> near =
        std::span(r).subspan(at(m - m / kNeighborhood), at(2 * (m / kNeighborhood) + 1));
    return r[at(m)] - *std::ranges::min_element(shorter) >= kLeastRise &&
           *std::ranges::max_element(near) - r[at(m)] <= tolerance;
  };
  double best = 0;
  for (const Index m : candidates)
    if (passes(m)) best = std::max(best, r[at(m)]);
  for (const Index m : candidates)
    if (passes(m) && r[at(m)] >= kShareOfBest * best) return m;
  return 1;
}

}  // namespace

std::vector<double> interpolate_missing(std::span<const double> values, Index period) {
  check_values(values);
  std::vector<double> filled(values.begin(), values.end());
  interpolate_linearly(filled);
  if (period <= 1 || std::none_of(values.begin(), values.end(), [](double x) { return std::isnan(x); })) return filled;
  // The level below the seasonal means depends on the interpolated values, so they are computed twice.
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<double> season = seasonal_means(values, filled, period);
    if (season.empty()) return filled;
    std::vector<double> rest(values.begin(), values.end());
    for (std::size_t t = 0; t < rest.size(); ++t) rest[t] -= season[t % at(period)];
    interpolate_linearly(rest);
    for (std::size_t t = 0; t < rest.size(); ++t)
      if (std::isnan(values[t])) filled[t] = rest[t] + season[t % at(period)];
  }
  return filled;
}

std::vector<double> difference(std::span<const double> values, Index lag) {
  std::vector<double> d;
  for (std::size_t t = at(lag); t < values.size(); ++t) d.push_back(values[t] - values[t - at(lag)]);
  return d;
}

std::vector<double> autocorrelations(std::span<const double> values, Index max_lag) {
  const Index n = static_cast<Index>(values.size());
  max_lag = std::max<Index>(0, std::min(max_lag, n - 1));
  std::vector<double> centered(values.begin(), values.end()), r(at(max_lag + 1));
  double mean = 0;
  for (const double x : values) mean += x;
  mean /= static_cast<double>(n);
  for (double& x : centered) x -= mean;
  for (Index k = 0; k <= max_lag; ++k)
    for (Index t = k; t < n; ++t) r[at(k)] += centered[at(t)] * centered[at(t - k)];
  const double variance = r[0];
  for (double& x : r) x = variance > 0 ? x / variance : 0;
  r[0] = 1;
  return r;
}

bool significant_autocorrelation(std::span<const double> r, Index lag, Index n) {
  if (lag >= static_cast<Index>(r.size())) return false;
  return std::fabs(r[at(lag)]) > 1.6448536269514722 * bartlett_deviation(r, lag, n);
}

std::vector<Index> calendar_periods(double seconds) {
  constexpr double kDay = 86400;
  const auto days = [&](double least, double most) { return seconds >= least * kDay && seconds <= most * kDay; };
  if (days(28, 31)) return {12};
  if (days(89, 92)) return {4};
  std::vector<Index> periods;
  for (const double length : {60.0, 3600.0, kDay, 7 * kDay, 365.25 * kDay}) {
    if (!(seconds > 0)) break;
    const double steps = length / seconds;
    // A year is not a multiple of days or weeks, so its period is rounded.
    const double rounded = std::floor(steps + 0.5);
    const bool is_integer = length > 7 * kDay ? seconds >= kDay : std::fabs(steps - rounded) <= 1e-9 * steps;
    if (is_integer && rounded >= 2 && rounded <= 10080) periods.push_back(static_cast<Index>(rounded));
  }
  return periods;
}

Index detect_period(std::span<const double> values, std::span<const Index> candidates) {
  const std::vector<double> level = interpolate_missing(values);
  double scale = 0;
  for (const double x : values) scale = std::isnan(x) ? scale : std::max(scale, std::fabs(x));
  const std::vector<double> y = without_linear_trend(level);
  // A slowly varying component masks the seasonality; differencing removes it.
  if (autocorrelations(y, 1).back() <= 0.9)
    if (const Index period = period_of_stationary(y, candidates, scale); period > 1) return period;
  const Index period = period_of_stationary(without_linear_trend(difference(level)), candidates, scale);
  if (const Index clear = clear_period(y, candidates); clear > period && clear % period == 0) return clear;
  if (period > 1) return period;
  for (const Index m : candidates)
    if (m <= kLongestTested && equal_seasons_probability(level, m) < kSeasonLevel) return m;
  return 1;
}

}  // namespace unfold::forecasting
