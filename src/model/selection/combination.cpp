#include "model/selection/combination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/forecast/lanes.h"

namespace unfold::forecasting {
namespace {

constexpr double kInfiniteError = std::numeric_limits<double>::infinity();
constexpr double kFactorOfBest = 1.5, kReferenceShare = 0.5;
constexpr double kFactorOfOwnBest = 2, kLeastOrigins = 3;
constexpr Index kLeastCompared = 100;  // values
constexpr std::size_t kMostCombined = 6;
constexpr double kLargestScore = 1e3;
constexpr double kTypicalOrigins = 5;  // number of origins to which the errors on other series are equivalent

/// Returns the mean error of each member over the origins except `left_out`.
std::vector<double> mean_errors(std::span<const MemberBacktest> members, std::size_t left_out) {
  std::vector<double> errors;
  errors.reserve(members.size());
  for (const MemberBacktest& member : members) errors.push_back(member.loss(left_out));
  return errors;
}

/// Averages the logarithms of the errors of a series with those of the typical errors. The errors are first divided by
/// their geometric mean. An error of 0 is not changed.
void average_with_typical(std::vector<double>& errors, double origins, std::span<const double> typical) {
  if (typical.empty()) return;
  const auto is_usable = [&](std::size_t m) {
    return errors[m] > 0 && std::isfinite(errors[m]) && std::isfinite(typical[m]);
  };
  double own = 0, others = 0, count = 0;
  for (std::size_t m = 0; m < errors.size(); ++m)
    if (is_usable(m)) own += log_of(errors[m]), others += log_of(typical[m]), ++count;
  if (count == 0) return;
  const double offset = (own - others) / count, share = origins / (origins + kTypicalOrigins);
  for (std::size_t m = 0; m < errors.size(); ++m)
    if (is_usable(m)) errors[m] = exp_of(share * log_of(errors[m]) + (1 - share) * (log_of(typical[m]) + offset));
}

/// Leaves out members whose own errors are more than twice the smallest one in at least three origins: after averaging
/// with typical errors, they could be combined. `compared`: number of values after the first origin.
void leave_out_worse(std::vector<double>& errors, const std::vector<double>& own, double origins, Index compared) {
  if (origins < kLeastOrigins || compared < kLeastCompared || own.empty()) return;
  const double best = *std::ranges::min_element(own);
  for (std::size_t m = 0; m < errors.size(); ++m)
    if (!(own[m] <= kFactorOfOwnBest * best)) errors[m] = kInfiniteError;
}

double score_of(double actual, const PointsAndWidths& forecast, std::size_t h, double scale) {
  const double error = actual - forecast.mean[h], width = error > 0 ? forecast.above[h] : forecast.below[h];
  if (std::fabs(error) <= 1e-9 * scale) return 0;
  return std::min(kLargestScore, std::fabs(error) / std::max(width, 1e-12 * scale));
}

/// Returns the mean of the observed values minus their forecasts.
double mean_deviation(std::span<const double> actual, std::span<const double> forecast) {
  double sum = 0, count = 0;
  for (std::size_t h = 0; h < actual.size(); ++h)
    if (!std::isnan(actual[h])) sum += actual[h] - forecast[h], ++count;
  return sum / count;
}

}  // namespace

std::vector<double> combination_weights(std::span<const double> errors, int exponent) {
  std::vector<double> weights(errors.size(), 0);
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return errors[a] < errors[b]; });
  if (errors.empty() || !std::isfinite(errors[order[0]])) return weights;
  const double best = errors[order[0]];
  double sum = 0;
  for (std::size_t k = 0; k < std::min(order.size(), kMostCombined); ++k) {
    const double error = errors[order[k]];
    if (!(error <= kFactorOfBest * best)) break;
    const double ratio = error > 0 ? best / error : 1;
    double power = 1;
    for (int i = 0; i < exponent; ++i) power *= ratio;
    sum += weights[order[k]] = power;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

PointsAndWidths combine(std::span<const PointsAndWidths* const> members, std::span<const double> weights) {
  PointsAndWidths sum;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (weights[i] == 0) continue;
    const std::size_t horizon = members[i]->mean.size();
    sum.mean.resize(horizon), sum.below.resize(horizon), sum.above.resize(horizon);
    for (std::size_t h = 0; h < horizon; ++h) {
      sum.mean[h] += weights[i] * members[i]->mean[h];
      sum.below[h] += weights[i] * members[i]->below[h];
      sum.above[h] += weights[i] * members[i]->above[h];
    }
  }
  return sum;
}

CombinationBacktest backtest_combination(std::span<const MemberBacktest> members, const UnivariateSeries& series,
                                         std::span<const Index> origins, Index horizon,
                                         const CombinationOptions& options) {
  CombinationBacktest result;
  result.scores.resize(at(horizon));
  double sum = 0, count = 0, squares = 0;
  const Index compared = origins.empty() ? 0 : static_cast<Index>(series.values.size()) - origins.front();
  for (std::size_t k = 0; k < origins.size(); ++k) {
    std::vector<double> errors = mean_errors(members, k);
    // A single origin has the weights of the forecast: without its errors, nothing would be known about the series.
    const double others = std::max(1.0, static_cast<double>(origins.size()) - 1);
    const std::vector<double> own = errors;
    average_with_typical(errors, others, options.typical);
    if (options.exponent == kExponent) leave_out_worse(errors, own, others, compared);
    const std::vector<double> weights = combination_weights(errors, options.exponent);
    if (std::accumulate(weights.begin(), weights.end(), 0.0) == 0) break;
    std::vector<const PointsAndWidths*> forecasts;
    for (const MemberBacktest& member : members)
      forecasts.push_back(k < member.forecasts.size() ? &member.forecasts[k] : nullptr);
    const PointsAndWidths combined = combine(forecasts, weights);
    const std::span<const double> actual = held_out(series, origins[k], horizon);
    const double scale = error_scale(std::span(series.values).first(at(origins[k])), series.period);
    const double error = scaled_error(actual, combined.mean, scale);
    if (std::isnan(error)) continue;
    sum += error, ++count;
    squares += mean_squared_error(actual, combined.mean);
    result.biases.push_back(mean_deviation(actual, combined.mean) / scale);
    for (std::size_t h = 0; h < actual.size(); ++h)
      if (!std::isnan(actual[h])) result.scores[h].push_back(score_of(actual[h], combined, h, scale));
  }
  result.origins = static_cast<Index>(count);
  result.error = count > 0 ? sum / count : kInfiniteError;
  result.loss = result.error;
  if (count > 0 && compares_squares(members))
    result.loss = std::sqrt((squares / variance_of(series.values) + 1) / (count + 1));
  std::vector<double> errors = mean_errors(members, origins.size());
  const std::vector<double> own = errors;
  average_with_typical(errors, count, options.typical);
  if (options.exponent == kExponent) leave_out_worse(errors, own, count, compared);
  result.weights = combination_weights(errors, options.exponent);
  if (options.reference >= 0 && members[at(options.reference)].error < result.error) {
    const double share = kReferenceShare * (options.typical.empty() ? 1 : count / (count + kTypicalOrigins));
    for (double& w : result.weights) w *= 1 - share;
    result.weights[at(options.reference)] += share;
  }
  return result;
}

}  // namespace unfold::forecasting
