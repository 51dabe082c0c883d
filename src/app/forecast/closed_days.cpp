#include "app/forecast/closed_days.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "data/cells/date_step.h"

namespace unfold {
namespace {

constexpr Index kLeastEqual = 8, kDaysOfWeek = 7;
constexpr double kChance = 0.05;
constexpr std::array<const char*, kDaysOfWeek> kWeekdays = {"Mondays", "Tuesdays",  "Wednesdays", "Thursdays",
                                                            "Fridays", "Saturdays", "Sundays"};

/// Weekday (0 for Monday) and second of the day.
using WeekTime = std::pair<Index, Index>;

WeekTime week_time(const Moment& moment) { return {weekday_of(moment.days), moment.second}; }

/// The observed values of a weekday and a time of day.
struct EqualValues {
  double value = 0;
  Index count = 0;
  bool equal = true;
};

std::map<WeekTime, EqualValues> values_by_weekday(const TableSeries& series) {
  std::map<WeekTime, EqualValues> result;
  for (std::size_t t = 0; t < series.values.size(); ++t) {
    const double x = series.values[t];
    if (std::isnan(x)) continue;
    EqualValues& values = result[week_time(series.index.moment(static_cast<Index>(t)))];
    if (values.count++ == 0) values.value = x;
    values.equal = values.equal && x == values.value;
  }
  return result;
}

/// Returns whether the steps are days, open days or shorter. Longer steps meet the days of the week by chance.
bool has_daily_steps(const forecasting::TimeIndex& index) {
  constexpr Index kDaySeconds = 24 * 60 * 60;
  if (!index.has_dates()) return false;
  return index.has_closed_days() || index.moment(1).seconds() - index.moment(0).seconds() <= kDaySeconds;
}

/// Returns the values of the weekdays and times that are always equal, and not by chance.
std::map<WeekTime, EqualValues> closed_times(const TableSeries& series) {
  std::map<WeekTime, EqualValues> closed = values_by_weekday(series);
  std::erase_if(closed, [](const auto& one) { return !one.second.equal || one.second.count < kLeastEqual; });
  if (closed.empty()) return closed;
  std::map<double, Index> counts;
  for (const auto& [time, values] : closed) counts[values.value] = 0;
  Index observed = 0;
  for (const double x : series.values) {
    if (std::isnan(x)) continue;
    ++observed;
    if (const auto place = counts.find(x); place != counts.end()) ++place->second;
  }
  std::erase_if(closed, [&](const auto& one) {
    const Index others = observed - one.second.count, equal = counts[one.second.value] - one.second.count;
    const double share = others == 0 ? 1 : static_cast<double>(equal) / static_cast<double>(others);
    return static_cast<double>(kDaysOfWeek) * std::pow(share, static_cast<double>(one.second.count)) > kChance;
  });
  return closed;
}

}  // namespace

std::string keep_closed_days(const TableSeries& series, const std::vector<double>& coverage,
                             forecasting::AutomaticForecast& forecast) {
  if (!has_daily_steps(series.index) || forecast.mean.empty() || std::isnan(forecast.mean.front())) return {};
  const std::map<WeekTime, EqualValues> closed = closed_times(series);
  if (closed.empty()) return {};
  std::array<bool, kDaysOfWeek> days = {};
  std::optional<double> common;
  bool one_value = true;
  const bool has_negative = std::ranges::any_of(series.values, [](double x) { return x < 0; });
  const double limit = has_negative ? -std::numeric_limits<double>::infinity() : 0;
  for (std::size_t h = 0; h < forecast.mean.size(); ++h) {
    const WeekTime time = week_time(series.index.moment(static_cast<Index>(series.values.size() + h)));
    const auto found = closed.find(time);
    if (found == closed.end()) continue;
    const EqualValues& values = found->second;
    days[at(time.first)] = true;
    one_value = one_value && common.value_or(values.value) == values.value;
    common = values.value;
    const double n = static_cast<double>(values.count), shift = values.value - forecast.mean[h];
    forecast.mean[h] = values.value;
    for (std::size_t level = 0; level < coverage.size(); ++level) {
      const bool exact = coverage[level] <= n / (n + 1);
      double &lower = forecast.lower[level][h], &upper = forecast.upper[level][h];
      lower = exact ? values.value : std::min(values.value, std::max(limit, lower + std::min(0.0, shift)));
      upper = exact ? values.value : std::max(values.value, upper + std::max(0.0, shift));
    }
  }
  if (!common) return {};
  std::vector<std::string> names;
  for (std::size_t day = 0; day < days.size(); ++day)
    if (days[day]) names.emplace_back(kWeekdays[day]);
  return fmt::format("all values {} {} are equal{}; the forecast stays at {}",
                     series.index.moment(0).has_time ? "at some times on" : "on", fmt::join(names, ", "),
                     one_value ? fmt::format(" to {:.6g}", *common) : "", one_value ? "this value" : "these values");
}

}  // namespace unfold
