#include "model/selection/conformal_intervals.h"

#include <algorithm>
#include <cmath>

#include "model/forecast/lanes.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

constexpr Index kLeastPool = 20;         // minimum number of series whose scores are pooled
constexpr double kReferenceOrigins = 2;  // number of origins to which the normal distribution is equivalent
constexpr double kPooledOrigins = 6;     // number of origins to which the scores of the other series are equivalent
constexpr double kUncertainty = 1.15;    // factor on the widths of fitted models if nothing was held out

/// Returns the ceil((n + 1) c)-th smallest of sorted scores, at most the largest.
double conformal_quantile(const std::vector<double>& sorted, double coverage) {
  const double place = std::ceil((static_cast<double>(sorted.size()) + 1) * coverage - 1e-9);
  return sorted[std::min(sorted.size(), static_cast<std::size_t>(std::max(1.0, place))) - 1];
}

}  // namespace

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
