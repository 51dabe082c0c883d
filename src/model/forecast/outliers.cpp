#include "model/forecast/outliers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "model/forecast/lanes.h"

namespace unfold::forecasting {
namespace {

constexpr double kNormalDeviation = 1.4826;  // standard deviation of a normal distribution, in median absolute
                                             // deviations
constexpr double kFarDeviations = 10, kFarFromOthers = 3;
constexpr Index kLeastToJudge = 12, kValuesPerOutlier = 20;
constexpr Index kNeighbors = 3, kSeasonsAround = 2;
constexpr Index kLeastOfLevel = 3, kMostPasses = 3;

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Predicts each value from its neighbors and from other seasons.
class Expectation {
 public:
  Expectation(const std::vector<double>& values, Index period) : y_(values), period_(period) {
    std::vector<double> steps;
    for (std::size_t t = at(period); t < y_.size(); ++t)
      if (const double step = y_[t] - y_[t - at(period)]; !std::isnan(step)) steps.push_back(step);
    if (period > 1 && !steps.empty()) seasonal_step_ = median_of(steps);
  }

  /// Returns the prediction that is closest to the value; std::nullopt if there are too few values nearby.
  std::optional<double> of(Index t, double value) const {
    std::optional<double> closest;
    const auto consider = [&](std::optional<double> expected) {
      if (expected && (!closest || std::fabs(value - *expected) < std::fabs(value - *closest))) closest = expected;
    };
    consider_neighbors(t, consider);
    consider(from_seasons(t));
    return closest;
  }

 private:
  bool observed(Index t) const { return t >= 0 && t < static_cast<Index>(y_.size()) && !std::isnan(y_[at(t)]); }

  /// Returns predictions from the line through the neighbors: the median of their values, each extrapolated to `t` by
  /// the median step. The neighbors on one side are sufficient, so a change of the level is not reported as an outlier.
  template <class Consider>
  void consider_neighbors(Index t, const Consider& consider) const {
    const Index n = static_cast<Index>(y_.size());
    const Index first = std::clamp<Index>(t - kNeighbors, 0, std::max<Index>(0, n - 2 * kNeighbors - 1));
    std::vector<Index> places;
    for (Index u = first; u <= std::min(n - 1, first + 2 * kNeighbors); ++u)
      if (u != t && observed(u)) places.push_back(u);
    if (static_cast<Index>(places.size()) < kNeighbors) return;
    std::vector<double> steps;
    for (std::size_t i = 1; i < places.size(); ++i)
      steps.push_back((y_[at(places[i])] - y_[at(places[i - 1])]) / static_cast<double>(places[i] - places[i - 1]));
    const double step = median_of(steps);
    std::vector<double> all, before, behind;
    for (const Index u : places) {
      all.push_back(y_[at(u)] + static_cast<double>(t - u) * step);
      (u < t ? before : behind).push_back(all.back());
    }
    consider(median_of(all));
    for (std::vector<double>* side : {&before, &behind})
      if (static_cast<Index>(side->size()) >= kNeighbors) consider(median_of(*side));
  }

  std::optional<double> from_seasons(Index t) const {
    if (period_ <= 1) return std::nullopt;
    std::vector<double> carried;
    for (Index k = -kSeasonsAround; k <= kSeasonsAround; ++k)
      if (k != 0 && observed(t + k * period_))
        carried.push_back(y_[at(t + k * period_)] - static_cast<double>(k) * seasonal_step_);
    if (carried.empty()) return std::nullopt;
    return median_of(carried);
  }

  const std::vector<double>& y_;
  Index period_;
  double seasonal_step_ = 0;
};

/// Returns the values that are far from their predictions, which are computed from `others`, and from all other values,
/// in ascending order of position.
std::vector<Outlier> far_values(const std::vector<double>& values, const std::vector<double>& others, Index period) {
  const Expectation expectation(others, period);
  std::vector<Outlier> found;
  std::vector<double> distances;
  for (std::size_t t = 0; t < values.size(); ++t) {
    if (std::isnan(values[t])) continue;
    const std::optional<double> expected = expectation.of(static_cast<Index>(t), values[t]);
    if (!expected) continue;
    found.push_back({static_cast<Index>(t), values[t], *expected});
    distances.push_back(std::fabs(values[t] - *expected));
  }
  if (static_cast<Index>(found.size()) < kLeastToJudge) return {};
  const double usual = kNormalDeviation * median_of(distances);
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const Outlier& o) { return std::fabs(o.value - o.expected); });
  const Index most = std::max<Index>(static_cast<Index>(found.size()) / kValuesPerOutlier, 1);
  std::size_t count = 0;
  for (std::size_t k = 0; k < at(most); ++k) {
    const double distance = std::fabs(found[k].value - found[k].expected);
    const double next = std::fabs(found[k + 1].value - found[k + 1].expected);
    if (distance > kFarDeviations * usual && distance > kFarFromOthers * next) count = k + 1;
  }
  found.resize(count);
  std::ranges::sort(found, {}, &Outlier::place);
  return found;
}

/// Removes adjacent values that are a change of the level: three and more, or two at an end of the series.
void keep_changes_of_level(std::vector<Outlier>& found, Index n) {
  std::vector<Outlier> kept;
  for (std::size_t first = 0, end = 0; first < found.size(); first = end) {
    for (end = first + 1; end < found.size() && found[end].place == found[end - 1].place + 1;) ++end;
    const bool at_end = found[first].place < kNeighbors || found[end - 1].place >= n - kNeighbors;
    const std::size_t most = at_end ? 1 : kLeastOfLevel - 1;
    if (end - first > most) continue;
    kept.insert(kept.end(), found.begin() + static_cast<std::ptrdiff_t>(first),
                found.begin() + static_cast<std::ptrdiff_t>(end));
  }
  found = std::move(kept);
}

/// Removes the values that another one in the same direction follows or precedes at a distance of `least` to `most`, if
/// these are most of the values: a regular event. `when`: the time of each value.
void keep_recurring(std::vector<Outlier>& found, const std::vector<double>& when, double least, double most) {
  constexpr std::size_t kMostOf = 3;  // at least two of three
  std::vector<bool> recurs(found.size(), false);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const double distance = when[i] - when[k];
      const bool same = (found[i].value > found[i].expected) == (found[k].value > found[k].expected);
      if (same && distance >= least && distance <= most) recurs[i] = recurs[k] = true;
    }
  const auto count = static_cast<std::size_t>(std::ranges::count(recurs, true));
  if (count < 2 || kMostOf * count < (kMostOf - 1) * found.size()) return;
  std::vector<Outlier> kept;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!recurs[i]) kept.push_back(found[i]);
  found = std::move(kept);
}

/// Removes regular events: values that recur at equal distances, or after about a year.
void keep_regular_events(std::vector<Outlier>& found, const std::vector<Index>& days) {
  constexpr double kYear = 366, kWeek = 7, kDeviation = 0.1;  // months have 28 to 31 days
  constexpr std::size_t kLeastRegular = 3;
  std::vector<double> when;
  if (!days.empty()) {
    for (const Outlier& outlier : found) when.push_back(static_cast<double>(days[at(outlier.place)]));
    keep_recurring(found, when, kYear - kWeek, kYear + kWeek);
  }
  if (found.size() < kLeastRegular) return;
  std::vector<double> steps;
  when.clear();
  for (const Outlier& outlier : found) when.push_back(static_cast<double>(outlier.place));
  for (std::size_t i = 1; i < when.size(); ++i) steps.push_back(when[i] - when[i - 1]);
  const double step = median_of(steps);
  keep_recurring(found, when, (1 - kDeviation) * step, (1 + kDeviation) * step);
}

std::vector<double> replaced(std::vector<double> values, const std::vector<Outlier>& outliers) {
  for (const Outlier& outlier : outliers) values[at(outlier.place)] = outlier.expected;
  return values;
}

/// Returns the outliers among the values; the predictions of the second and third pass are computed without them.
std::vector<Outlier> outliers_of(const std::vector<double>& values, const UnivariateSeries& series) {
  std::vector<Outlier> found;
  for (Index pass = 0; pass < kMostPasses; ++pass) {
    std::vector<Outlier> next = far_values(values, replaced(values, found), series.period);
    keep_changes_of_level(next, static_cast<Index>(values.size()));
    const bool same = std::ranges::equal(next, found, {}, &Outlier::place, &Outlier::place);
    found = std::move(next);
    if (same || found.empty()) break;
  }
  keep_regular_events(found, series.days);
  return found;
}

/// Returns whether at least half of the values are equal, as in series of rare events.
bool is_intermittent(const std::vector<double>& values) {
  std::map<double, std::size_t> counts;
  std::size_t observed = 0, most = 0;
  for (const double x : values)
    if (!std::isnan(x)) ++observed, most = std::max(most, ++counts[x]);
  return 2 * most >= observed;
}

}  // namespace

std::vector<Outlier> find_outliers(const UnivariateSeries& series) {
  std::vector<Outlier> found = outliers_of(series.values, series);
  if (found.empty() || is_intermittent(series.values)) return {};
  if (std::ranges::any_of(series.values, [](double x) { return x <= 0; })) return found;
  std::vector<double> logarithms = series.values;
  for (double& x : logarithms)
    if (!std::isnan(x)) x = log_of(x);
  const std::vector<Outlier> of_logarithms = outliers_of(logarithms, series);
  std::erase_if(found, [&](const Outlier& outlier) {
    return std::ranges::find(of_logarithms, outlier.place, &Outlier::place) == of_logarithms.end();
  });
  return found;
}

std::vector<double> without_outliers(const UnivariateSeries& series) {
  return replaced(series.values, find_outliers(series));
}

}  // namespace unfold::forecasting
