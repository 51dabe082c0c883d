#include "model/selection/weekly_effect.h"

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr Index kMostWeeks = 10, kLeastWeeks = 2, kLeastWeeksOfEffect = 3;
constexpr double kLeastRatio = 2;

/// Returns the mean over one week around each value; at the ends, over the first and the last week.
std::vector<double> weekly_means(const std::vector<double>& values, Index week) {
  const Index n = static_cast<Index>(values.size());
  std::vector<double> sums(values.size() + 1), means(values.size());
  for (Index t = 0; t < n; ++t) sums[at(t + 1)] = sums[at(t)] + values[at(t)];
  for (Index t = 0; t < n; ++t) {
    const Index begin = std::clamp<Index>(t - week / 2, 0, n - week);
    means[at(t)] = (sums[at(begin + week)] - sums[at(begin)]) / static_cast<double>(week);
  }
  return means;
}

/// Returns the number of values up to the last observed one.
Index observed_length(std::span<const double> values) {
  Index n = static_cast<Index>(values.size());
  while (n > 0 && std::isnan(values[at(n - 1)])) --n;
  return n;
}

}  // namespace

double find_weekly_effect(const UnivariateSeries& series) {
  const Index n = observed_length(series.values), week = series.weekly.week;
  if (week == 0 || n < kLeastWeeksOfEffect * week) return 0;
  const Index length = std::min(kMostWeeks, n / week) * week;
  const std::span<const double> last = std::span(series.values).subspan(at(n - length), at(length));
  if (2 * std::ranges::count_if(last, [](double x) { return std::isnan(x); }) > length) return 0;
  const WeeklyEffect effect(series);
  if (!(effect.within_ > 0)) return effect.between_ > 0 ? 1 : 0;
  const double ratio = effect.between_ / effect.within_;
  return ratio >= kLeastRatio ? 1 - 1 / ratio : 0;
}

WeeklyEffect::WeeklyEffect(const UnivariateSeries& series) {
  const Index n = observed_length(series.values), week = series.weekly.week, day = series.weekly.day;
  const Index weeks = std::min(kMostWeeks, n / std::max<Index>(1, week));
  if (week == 0 || weeks < kLeastWeeks) throw DataError("fewer than two weeks of values precede the first origin");
  first_ = n - weeks * week;
  const std::vector<double> values =
      interpolate_missing(std::span(series.values).subspan(at(first_), at(weeks * week)), week);
  const bool relative = std::ranges::none_of(values, [](double x) { return x < 0; });
  levels_ = weekly_means(values, week);
  std::vector<double> of_week(at(week)), of_day(at(day)), deviations(values.size());
  const Index days = weeks * week / day;
  for (std::size_t t = 0; t < values.size(); ++t) {
    deviations[t] = values[t] - levels_[t];
    if (relative && levels_[t] > 0) deviations[t] /= levels_[t];
    if (!relative) levels_[t] = 1;
    of_week[t % at(week)] += deviations[t] / static_cast<double>(weeks);
    of_day[t % at(day)] += deviations[t] / static_cast<double>(days);
  }
  for (std::size_t t = 0; t < values.size(); ++t) {
    const double rest = deviations[t] - of_week[t % at(week)];
    within_ += rest * rest / static_cast<double>((weeks - 1) * week);
  }
  for (std::size_t j = 0; j < at(week); ++j) {
    const double difference = of_week[j] - of_day[j % at(day)];
    between_ += static_cast<double>(weeks) * difference * difference / static_cast<double>(week - day);
    differences_.push_back(series.weekly.share * difference);
  }
}

double WeeklyEffect::effect(Index position) const {
  const Index week = static_cast<Index>(differences_.size());
  const Index place = ((position - first_) % week + week) % week;
  const Index level = std::clamp<Index>(position - first_, 0, static_cast<Index>(levels_.size()) - 1);
  return differences_[at(place)] * levels_[at(level)];
}

}  // namespace unfold::forecasting
