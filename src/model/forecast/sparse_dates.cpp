#include "model/forecast/sparse_dates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "data/cells/civil_date.h"
#include "data/cells/date_step.h"

namespace unfold::forecasting {
namespace {

constexpr Index kSecondsOfDay = 86400, kDaysOfWeek = 7;
constexpr Index kFirstDates = 3, kFirstWeeks = 4;  // of a calendar
constexpr Index kLeastForWeekday = 3;              // number of dates for each day of the week
constexpr double kByChance = 0.05;

using Dates = std::vector<Moment>;

/// Returns whether at most half of the dates of a calendar are absent.
bool is_half_present(Index dates, Index complete) { return complete <= 2 * dates; }

bool have_same_second(std::span<const Moment> dates) {
  const Moment& first = dates.front();
  return std::ranges::all_of(
      dates, [&](const Moment& m) { return m.second == first.second && m.nanosecond == first.nanosecond; });
}

/// Returns the smallest difference if it is the most frequent one, occurs at least twice, and all differences are
/// multiples of it; otherwise 0.
Index common_difference(std::span<const Index> times) {
  std::map<Index, Index> counts;
  for (std::size_t t = 1; t < times.size(); ++t) ++counts[times[t] - times[t - 1]];
  const auto [least, count] = *counts.begin();
  if (least <= 0 || count < 2) return 0;
  for (const auto& [difference, frequency] : counts)
    if (difference % least != 0 || frequency > count) return 0;
  return least;
}

Dates open_days_with_gaps(std::span<const Moment> dates) {
  if (!have_same_second(dates)) return {};
  Weekdays open = 0;
  for (const Moment& m : dates) open |= 1U << weekday_of(m.days);
  const Index n = static_cast<Index>(dates.size()), count = weekday_count(open);
  if (count < 2 || count == kDaysOfWeek || n < kLeastForWeekday * count) return {};
  const Index first = dates.front().days, days = dates.back().days - first + 1;
  std::array<Index, kDaysOfWeek> of_weekday = {};  // number of days from the first to the last date
  Index complete = 0;
  for (Index k = 0; k < kDaysOfWeek; ++k) {
    const Index day = weekday_of(first + k);
    of_weekday[at(day)] = (days - k + kDaysOfWeek - 1) / kDaysOfWeek;
    if (has_weekday(open, day)) complete += of_weekday[at(day)];
  }
  if (!is_half_present(n, complete)) return {};
  const double absent = static_cast<double>(complete - n) / static_cast<double>(complete);
  for (Index day = 0; day < kDaysOfWeek; ++day)
    if (!has_weekday(open, day) &&
        static_cast<double>(kDaysOfWeek) * std::pow(absent, static_cast<double>(of_weekday[at(day)])) > kByChance)
      return {};
  Dates result;
  for (Moment m = dates.front(); m.days < first + kFirstWeeks * kDaysOfWeek; ++m.days)
    if (has_weekday(open, weekday_of(m.days))) result.push_back(m);
  return result;
}

Dates seconds_with_gaps(std::span<const Moment> dates) {
  std::vector<Index> times;
  for (const Moment& m : dates) times.push_back(m.days * kSecondsOfDay + m.second);
  const Index step = common_difference(times);
  if (step == 0 || !is_half_present(static_cast<Index>(dates.size()), (times.back() - times.front()) / step + 1))
    return {};
  Dates result;
  for (Index t = 0; t < kFirstDates; ++t) {
    Moment m = dates.front();
    const Index days = (m.second + t * step) / kSecondsOfDay;
    m.days += days, m.second += t * step - days * kSecondsOfDay;
    result.push_back(m);
  }
  return result;
}

Dates months_with_gaps(std::span<const Moment> dates) {
  if (!have_same_second(dates)) return {};
  std::vector<Index> months;
  bool ends = true, same_day = true;
  const Index day = civil_from_days(dates.front().days).day;
  for (const Moment& m : dates) {
    const CivilDate civil = civil_from_days(m.days);
    months.push_back(civil.year * 12 + civil.month - 1);
    ends = ends && civil.day == days_in_month(civil.year, civil.month);
    same_day = same_day && civil.day == day;
  }
  const Index step = ends || same_day ? common_difference(months) : 0;
  if (step == 0 || !is_half_present(static_cast<Index>(dates.size()), (months.back() - months.front()) / step + 1))
    return {};
  Dates result;
  for (Index t = 0; t < kFirstDates; ++t) {
    const Index year = (months.front() + t * step) / 12, month = (months.front() + t * step) % 12 + 1;
    const Index last = days_in_month(year, month);
    Moment m = dates.front();
    m.days = days_from_civil(year, month, ends ? last : std::min(day, last));
    result.push_back(m);
  }
  return result;
}

}  // namespace

std::vector<Dates> calendars_with_gaps(std::span<const Moment> dates) {
  std::vector<Dates> result;
  if (dates.size() < static_cast<std::size_t>(kFirstDates)) return result;
  for (auto* calendar : {open_days_with_gaps, seconds_with_gaps, months_with_gaps})
    if (Dates first = calendar(dates); !first.empty()) result.push_back(std::move(first));
  return result;
}

}  // namespace unfold::forecasting
