#include "model/selection/combination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/forecast/lanes.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kFactorOfBest = 1.5, kReferenceShare = 0.5;
constexpr std::size_t kMostCombined = 6;
constexpr Index kLeastPool = 20;         // minimum number of series whose scores are pooled
constexpr double kReferenceOrigins = 2;  // number of origins that the normal distribution is equivalent to
constexpr double kPooledOrigins = 6;     // number of origins that the scores of the other series are equivalent to
constexpr double kUncertainty = 1.15;    // factor on the widths of fitted models if nothing was held out
constexpr double kLargestScore = 1e3;

/// Returns the ceil((n + 1) c)-th smallest of sorted scores, at most the largest.
double conformal_quantile(const std::vector<double>& sorted, double coverage) {
  const double place = std::ceil((static_cast<double>(sorted.size()) + 1) * coverage - 1e-9);
  return sorted[std::min(sorted.size(), static_cast<std::size_t>(std::max(1.0, place))) - 1];
}

/// Mean error of each member over the origins except `left_out`.
std::vector<double> mean_errors(std::span<const MemberBacktest> members, std::size_t left_out) {
  std::vector<double> errors;
  for (const MemberBacktest& member : members) {
    double sum = 0, count = 0;
    for (std::size_t k = 0; k < member.errors.size(); ++k)
      if (k != left_out && !std::isnan(member.errors[k])) sum += member.errors[k], ++count;
    errors.push_back(std::isfinite(member.error) ? (count > 0 ? sum / count : member.error) : kInfinite);
  }
  return errors;
}

double score_of(double actual, const PointsAndWidths& forecast, std::size_t h, double scale) {
  const double error = actual - forecast.mean[h], width = error > 0 ? forecast.above[h] : forecast.below[h];
  if (std::fabs(error) <= 1e-9 * scale) return 0;
  return std::min(kLargestScore, std::fabs(error) / std::max(width, 1e-12 * scale));
}

}  // namespace

std::vector<double> combination_weights(std::span<const double> errors) {
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
    sum += weights[order[k]] = ratio * ratio * ratio * ratio;
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
                                         std::span<const Index> origins, Index horizon, Index reference) {
  CombinationBacktest result;
  result.scores.resize(at(horizon));
  double sum = 0, count = 0;
  for (std::size_t k = 0; k < origins.size(); ++k) {
    const std::vector<double> weights = combination_weights(mean_errors(members, k));
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
    for (std::size_t h = 0; h < actual.size(); ++h)
      if (!std::isnan(actual[h])) result.scores[h].push_back(score_of(actual[h], combined, h, scale));
  }
  result.origins = static_cast<Index>(count);
  result.error = count > 0 ? sum / count : kInfinite;
  result.weights = combination_weights(mean_errors(members, origins.size()));
  if (reference >= 0 && members[at(reference)].error < result.error) {
    for (double& w : result.weights) w *= 1 - kReferenceShare;
    result.weights[at(reference)] += kReferenceShare;
  }
  return result;
}

ScoreQuantiles::ScoreQuantiles(std::vector<std::vector<double>> all, Index series, std::vector<double> coverage)
    : coverage_(std::move(coverage)) {
  for (const double c : coverage_) normal_.push_back(kUncertainty * normal_quantile(0.5 + 0.5 * c));
  if (series < kLeastPool) return;
  for (std::vector<double>& scores : all) {
    std::ranges::sort(scores);
    std::vector<double>& row = pooled_.emplace_back(normal_);
    for (std::size_t level = 0; level < coverage_.size() && scores.size() >= at(kLeastPool); ++level)
      row[level] = conformal_quantile(scores, coverage_[level]);
  }
}

std::vector<std::vector<double>> ScoreQuantiles::factors(const CombinationBacktest& own, Index horizon) const {
  std::vector<double> scores;
  for (const std::vector<double>& row : own.scores) scores.insert(scores.end(), row.begin(), row.end());
  std::ranges::sort(scores);
  const double origins = static_cast<double>(own.origins);
  const double share =
      scores.empty() ? 0 : origins / (origins + (pooled_.empty() ? kReferenceOrigins : kPooledOrigins));
  std::vector<std::vector<double>> factors(coverage_.size());
  for (std::size_t level = 0; level < coverage_.size(); ++level) {
    const double quantile = scores.empty() ? 1 : conformal_quantile(scores, coverage_[level]);
    for (std::size_t h = 0; h < at(horizon); ++h) {
      const double reference = std::max(pooled_.empty() ? normal_[level] : pooled_[h][level], 1e-6);
      // Scores of 0 (forecasts without error) must not make the intervals vanish.
      const double own_quantile = std::max(quantile, 0.1 * reference);
      factors[level].push_back(exp_of(share * log_of(own_quantile) + (1 - share) * log_of(reference)));
    }
  }
  return factors;
}

}  // namespace unfold::forecasting
