#include "model/selection/intermittent.h"

#include <algorithm>
#include <cmath>

#include "model/selection/network_member.h"

namespace unfold::forecasting {
namespace {

constexpr Index kRunDivisor = 4;
constexpr double kLargestExplained = 0.5;

/// Returns the adjusted share of the variance of "is positive" that the phases of the season explain.
double explained_by_season(std::span<const double> values, Index period) {
  std::vector<double> positive(at(period), 0), counts(at(period), 0);
  double all = 0, count = 0;
  for (std::size_t t = 0; t < values.size(); ++t) {
    if (std::isnan(values[t])) continue;
    const double is_positive = values[t] > 0 ? 1 : 0;
    positive[t % at(period)] += is_positive, ++counts[t % at(period)];
    all += is_positive, ++count;
  }
  double inside = 0, phases = 0;
  for (std::size_t phase = 0; phase < at(period); ++phase) {
    if (counts[phase] == 0) continue;
    inside += positive[phase] * (1 - positive[phase] / counts[phase]);
    ++phases;
  }
  const double total = all * (1 - all / count);
  if (total == 0 || count <= phases) return 0;
  return 1 - (inside / (count - phases)) / (total / (count - 1));
}

}  // namespace

bool is_intermittent(const UnivariateSeries& series) {
  const auto first = std::ranges::find_if(series.values, [](double x) { return x > 0; });
  const std::span<const double> values(first, series.values.end());
  Index zeros = 0, positive = 0, runs = 0;
  bool before = false;
  for (const double x : values) {
    if (std::isnan(x)) continue;
    (x > 0 ? positive : zeros) += 1;
    runs += x > 0 && !before;
    before = x > 0;
  }
  if (std::ranges::any_of(series.values, [](double x) { return x < 0; })) return false;
  if (zeros <= positive || kRunDivisor * (runs - 1) < positive - 1) return false;
  return series.period <= 1 || explained_by_season(values, series.period) < kLargestExplained;
}

std::string unsuitable(const std::string& member, bool intermittent) {
  const std::string base = Member{member}.base();
  const bool is_for_demand = std::ranges::find(kIntermittentMembers, base) != kIntermittentMembers.end();
  if (!intermittent) return is_for_demand ? "the demand is not intermittent" : "";
  const bool repeats = base == "naive" || base == "seasonal-naive" || base == "drift";
  if (repeats) return "the demand is intermittent, so the last values say little about the next ones";
  return is_network(member) ? "the demand is intermittent, and a network predicts its median" : "";
}

DemandDistribution::DemandDistribution(std::span<const double> values) {
  for (const double x : values)
    if (x > 0) sizes_.push_back(x), mean_size_ += x;
  std::ranges::sort(sizes_);
  if (!sizes_.empty()) mean_size_ /= static_cast<double>(sizes_.size());
}

double DemandDistribution::quantile(double mean, double probability) const {
  if (sizes_.empty() || !(mean > 0)) return 0;
  const double share = std::min(1.0, mean / mean_size_);
  const double inside = (probability - (1 - share)) / share;  // quantile among the demands
  if (inside <= 0) return 0;
  const double place = std::ceil((static_cast<double>(sizes_.size()) + 1) * inside - 1e-9);
  const std::size_t k = std::min(sizes_.size(), static_cast<std::size_t>(std::max(1.0, place))) - 1;
  return sizes_[k] * mean / (share * mean_size_);
}

}  // namespace unfold::forecasting
