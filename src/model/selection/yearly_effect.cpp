#include "model/selection/yearly_effect.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace unfold::forecasting {
namespace {

constexpr double kNoDeviation = std::numeric_limits<double>::quiet_NaN();
constexpr Index kDaysOfYear = 366;  // of UnivariateSeries::days
constexpr Index kLeastStepsPerYear = 20, kWeeksPerYear = 52;
constexpr double kSquaredErrors = 4;  // squared number of standard errors
constexpr double kLeastLevel = 0.05;  // share of the level below which a value without its effect does not fall

}  // namespace

YearlySmoothing find_yearly_effect(const UnivariateSeries& series, Index horizon) {
  if (series.days.empty()) return {};
  UnivariateSeries with = series;
  with.yearly = {.width = 0, .share = 1};
  const YearlyEffect effect(with);
  if (effect.smoothing_.share == 0) return {};
  return effect.smoothing_for(std::clamp<Index>(horizon, 1, effect.year_ / 4));
}

YearlyEffect::YearlyEffect(const UnivariateSeries& series)
    : days_(series.days), count_(static_cast<Index>(series.values.size())), year_(steps_per_year(series)) {
  if (series.yearly.share == 0 || year_ < kLeastStepsPerYear || count_ <= year_ + 1) return;
  smoothing_ = series.yearly;
  set_deviations(series);
}

Index YearlyEffect::steps_per_year(const UnivariateSeries& series) {
  const Index n = static_cast<Index>(series.values.size());
  if (n < 2 || static_cast<Index>(series.days.size()) < n) return 0;
  const Index days = series.days[at(n - 1)] - series.days.front();
  return days > 0 ? (kDaysOfYear * (n - 1) + days / 2) / days : 0;
}

Index YearlyEffect::inner_period(const UnivariateSeries& series) {
  const Index year = steps_per_year(series);
  if (year == 0 || 2 * series.period <= year) return series.period;
  return std::max<Index>(1, year / kWeeksPerYear);
}

void YearlyEffect::set_deviations(const UnivariateSeries& series) {
  const std::vector<double> filled = interpolate_missing(series.values);
  relative_ = std::ranges::none_of(series.values, [](double x) { return x <= 0; });
  const std::vector<double> levels = level(filled);
  const std::size_t week = at(inner_period(series));
  std::vector<double> means(week), counts(week);
  deviations_.assign(at(count_), kNoDeviation);
  for (std::size_t t = 0; t < at(count_); ++t) {
    if (std::isnan(series.values[t])) continue;
    deviations_[t] = relative_ ? series.values[t] / levels[t] - 1 : series.values[t] - levels[t];
    means[t % week] += deviations_[t], ++counts[t % week];
  }
  sums_.assign(at(count_ + 1), 0), seen_.assign(at(count_ + 1), 0);
  for (std::size_t t = 0; t < at(count_); ++t) {
    const bool observed = !std::isnan(deviations_[t]);
    if (observed && week > 1) deviations_[t] -= means[t % week] / counts[t % week];
    sums_[t + 1] = sums_[t] + (observed ? deviations_[t] : 0);
    seen_[t + 1] = seen_[t] + (observed ? 1 : 0);
  }
}

/// Returns a level that is linear between the centers of successive years, which are counted from the end. With less
/// than two years, the slope follows from the values that are a year apart.
std::vector<double> YearlyEffect::level(const std::vector<double>& filled) const {
  const double year = static_cast<double>(year_);
  std::vector<double> means;  // the last year first
  for (Index end = count_; end >= year_; end -= year_) {
    double sum = 0;
    for (Index t = end - year_; t < end; ++t) sum += filled[at(t)];
    means.push_back(sum / year);
  }
  if (means.size() == 1) {
    double sum = 0;
    for (Index t = year_; t < count_; ++t) sum += filled[at(t)] - filled[at(t - year_)];
    means.push_back(means.front() - sum / static_cast<double>(count_ - year_));
  }
  std::vector<double> result;
  for (Index t = 0; t < count_; ++t) {
    const double back = (static_cast<double>(count_ - t) - 0.5) / year - 0.5;  // years before the last center
    const std::size_t k = std::min(static_cast<std::size_t>(std::max(0.0, back)), means.size() - 2);
    const double x = means[k] + (back - static_cast<double>(k)) * (means[k + 1] - means[k]);
    result.push_back(relative_ ? std::max(x, kLeastLevel * means[k]) : x);
  }
  return result;
}

YearlySmoothing YearlyEffect::smoothing_for(Index horizon) const {
  YearlySmoothing found;
  double best = 0;
  for (Index width = 0; 4 * (2 * width + 1) <= year_; width = width == 0 ? 1 : 2 * width) {
    std::vector<double> profile;
    for (Index t = 0; t < count_; ++t) profile.push_back(other_years(t, width));
    double product = 0, squares = 0, whole = 0, pairs = 0;
    for (Index t = 0; t + horizon < count_; ++t) {
      const double x = profile[at(t + horizon)] - profile[at(t)];
      const double y = deviations_[at(t + horizon)] - deviations_[at(t)];
      if (std::isnan(x) || std::isnan(y)) continue;
      product += x * y, squares += x * x, whole += y * y, ++pairs;
    }
    if (!(product > 0) || !(squares > 0)) continue;
    const double explained = product * product / squares;
    // A pair of years counts once, although each predicts the other.
    const double independent = std::min(pairs, static_cast<double>(count_ - year_)) / static_cast<double>(horizon);
    if (!(explained > best)) continue;
    best = explained;
    const bool significant = explained * (independent - 1) > kSquaredErrors * (whole - explained);
    found = {.width = width, .share = significant ? std::min(1.0, product / squares) : 0};
  }
  return found;
}

/// Returns the position of a day; -1 if no value has this date.
Index YearlyEffect::same_date(Index day) const {
  const auto end = days_.begin() + static_cast<std::ptrdiff_t>(count_);
  auto place = std::lower_bound(days_.begin(), end, day);
  if (place == end || (place != days_.begin() && day - *(place - 1) < *place - day)) --place;
  return std::abs(*place - day) * year_ <= kDaysOfYear ? place - days_.begin() : -1;
}

double YearlyEffect::smoothed(Index position, Index width) const {
  const Index first = std::max<Index>(0, position - width), end = std::min(count_, position + width + 1);
  return (sums_[at(end)] - sums_[at(first)]) / (seen_[at(end)] - seen_[at(first)]);
}

/// Returns the mean of the smoothed deviations at the same date in the other years; NaN if there are none.
double YearlyEffect::other_years(Index position, Index width) const {
  const Index day = days_[at(position)];
  double sum = 0, count = 0;
  const auto add = [&](Index other) {
    const Index place = same_date(other);
    const double x = place >= 0 ? smoothed(place, width) : kNoDeviation;
    if (!std::isnan(x)) sum += x, ++count;
  };
  for (Index other = day - kDaysOfYear; other >= days_.front() - kDaysOfYear; other -= kDaysOfYear) add(other);
  for (Index other = day + kDaysOfYear; other <= days_[at(count_ - 1)] + kDaysOfYear; other += kDaysOfYear) add(other);
  return sum / count;
}

double YearlyEffect::effect(Index position) const {
  if (smoothing_.share == 0) return 0;
  double x = other_years(position, smoothing_.width);
  if (std::isnan(x) && position < count_) x = smoothed(position, smoothing_.width);
  if (std::isnan(x)) return 0;
  return relative_ ? std::max(smoothing_.share * x, kLeastLevel - 1) : smoothing_.share * x;
}

double YearlyEffect::remove(double value, Index position) const {
  return relative_ ? value / (1 + effect(position)) : value - effect(position);
}

double YearlyEffect::restore(double value, Index position) const {
  return relative_ ? value * (1 + effect(position)) : value + effect(position);
}

}  // namespace unfold::forecasting
