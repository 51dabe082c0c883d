#include "model/selection/residual_diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/forecast/series.h"
#include "model/forecast/tail_probability.h"

namespace unfold::forecasting {
namespace {

constexpr double kSignificant = 0.01;
constexpr double kNotableCorrelation = 0.2, kNotableSpread = 1.5, kNotableKurtosis = 2;
constexpr double kSignificantBias = 0.05, kNotableBias = 0.5;
constexpr Index kLagsWithoutSeason = 10, kResidualsPerLag = 5;

/// Returns the ranks from 1; equal values get the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t k = first; k < end; ++k) ranks[order[k]] = 0.5 * static_cast<double>(first + 1 + end);
  }
  return ranks;
}

double residual_mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double correlation_of(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = residual_mean(a), mean_b = residual_mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] - mean_a, y = b[i] - mean_b;
    ab += x * y, aa += x * x, bb += y * y;
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

void test_correlation(ResidualDiagnostics& d, const std::vector<double>& x, Index period) {
  const Index n = static_cast<Index>(x.size());
  d.lags = std::min(period > 1 ? 2 * period : kLagsWithoutSeason, n / kResidualsPerLag) / 2 * 2;
  const std::vector<double> r = autocorrelations(x, d.lags);
  d.correlation.statistic = 0;
  for (Index k = 1; k <= d.lags; ++k) {
    d.correlation.statistic += r[at(k)] * r[at(k)] / static_cast<double>(n - k);
    if (std::fabs(r[at(k)]) > std::fabs(d.largest_correlation)) d.largest_correlation = r[at(k)], d.largest_lag = k;
  }
  d.correlation.statistic *= static_cast<double>(n) * static_cast<double>(n + 2);
  d.correlation.p = chi_squared_tail(d.correlation.statistic, d.lags);
}

void test_spread(ResidualDiagnostics& d, const std::vector<double>& x) {
  std::vector<double> sizes, places(x.size());
  sizes.reserve(x.size());
  for (const double value : x) sizes.push_back(std::fabs(value));
  std::iota(places.begin(), places.end(), 0.0);
  const std::span<const double> all = sizes;
  const double first = residual_mean(all.first(x.size() / 3)), last = residual_mean(all.last(x.size() / 3));
  d.spread_ratio = first > 0 ? last / first : std::numeric_limits<double>::infinity();
  const double rho = d.spread.statistic = correlation_of(ranks_of(sizes), places);
  const Index freedom = d.count - 2;
  const double rest = std::max(1e-12, 1 - rho * rho);
  d.spread.p = student_tails(rho * std::sqrt(static_cast<double>(freedom) / rest), freedom);
}

void test_normality(ResidualDiagnostics& d, const std::vector<double>& x) {
  const double mean = residual_mean(x), n = static_cast<double>(x.size());
  double second = 0, third = 0, fourth = 0;
  for (const double value : x) {
    const double y = value - mean;
    second += y * y / n, third += y * y * y / n, fourth += y * y * y * y / n;
  }
  d.skewness = third / (second * std::sqrt(second));
  d.excess_kurtosis = fourth / (second * second) - 3;
  d.normality.statistic = n * (d.skewness * d.skewness / 6 + d.excess_kurtosis * d.excess_kurtosis / 24);
  d.normality.p = chi_squared_tail(d.normality.statistic, 2);
}

void test_bias(ResidualDiagnostics& d, std::span<const double> errors) {
  if (errors.empty()) return;
  const double mean = d.bias = residual_mean(errors);
  if (errors.size() < 3) return;
  double squares = 0;
  for (const double e : errors) squares += (e - mean) * (e - mean);
  const double n = static_cast<double>(errors.size());
  const double deviation = std::sqrt(squares / (n - 1) / n);
  d.bias_test.statistic = deviation > 0 ? mean / deviation : 0;
  d.bias_test.p = student_tails(d.bias_test.statistic, static_cast<Index>(errors.size()) - 1);
}

}  // namespace

ResidualDiagnostics diagnose_residuals(std::span<const double> residuals, Index period, std::span<const double> errors,
                                       double mean_absolute_error) {
  ResidualDiagnostics d;
  d.mean_absolute_error = mean_absolute_error;
  std::vector<double> x;
  std::ranges::copy_if(residuals, std::back_inserter(x), [](double value) { return std::isfinite(value); });
  d.count = static_cast<Index>(x.size());
  test_bias(d, errors);
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::fabs(value));
  for (double& value : x) value /= largest > 0 ? largest : 1;  // the fourth powers must not overflow
  const bool all_equal = std::ranges::adjacent_find(x, std::ranges::not_equal_to()) == x.end();
  if (d.count < kLeastResiduals || all_equal) return d;
  test_correlation(d, x, period);
  test_spread(d, x);
  test_normality(d, x);
  return d;
}

bool ResidualDiagnostics::is_correlated() const {
  return correlation.p < kSignificant && std::fabs(largest_correlation) >= kNotableCorrelation;
}

bool ResidualDiagnostics::is_biased() const {
  return bias_test.p < kSignificantBias && std::fabs(bias) >= kNotableBias * mean_absolute_error;
}

bool ResidualDiagnostics::has_uneven_spread() const {
  return spread.p < kSignificant && std::max(spread_ratio, 1 / spread_ratio) >= kNotableSpread;
}

bool ResidualDiagnostics::has_heavy_tails() const {
  return normality.p < kSignificant && excess_kurtosis >= kNotableKurtosis;
}

std::vector<std::string> ResidualDiagnostics::notes() const {
  std::vector<std::string> notes;
  if (is_correlated())
    notes.push_back(fmt::format(
        "one-step errors are correlated (Ljung-Box p = {:.2g}, largest autocorrelation {:.2f} at lag {}): the "
        "members do not describe all of the dependence on past values",
        correlation.p, largest_correlation, largest_lag));
  if (is_biased())
    notes.push_back(
        fmt::format("the forecasts of the backtest are too {} (p = {:.2g}): the mean of the errors is {:.0f} % of "
                    "their mean absolute value",
                    bias > 0 ? "low" : "high", bias_test.p, 100 * std::fabs(bias) / mean_absolute_error));
  if (has_uneven_spread())
    notes.push_back(
        fmt::format("one-step errors have become {} (p = {:.2g}): those of the last third of the values are {:.2g} "
                    "times those of the first third",
                    spread_ratio > 1 ? "larger" : "smaller", spread.p, spread_ratio));
  if (has_heavy_tails())
    notes.push_back(
        fmt::format("a few one-step errors are much larger than the others (excess kurtosis {:.1f}), so intervals "
                    "of 95 % and more are uncertain",
                    excess_kurtosis));
  return notes;
}

}  // namespace unfold::forecasting
