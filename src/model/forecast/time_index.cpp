#include "model/forecast/time_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/cells/civil_date.h"
#include "model/forecast/series.h"
#include "model/forecast/sparse_dates.h"

namespace unfold::forecasting {
namespace {

constexpr double kRoundedYears = 0.15;  // largest error of a rounded year with a fraction, in steps

constexpr Index kDaySeconds = 86400;
constexpr const char* kMonthNames[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

Index floor_divided(Index a, Index b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Index last_day(Index year, Index month) {
  Index day = 31;
  while (day > 28 && !is_valid_date(year, month, day)) --day;
  return day;
}

Index months_of(const Moment& m) {
  const CivilDate civil = civil_from_days(m.days);
  return civil.year * 12 + civil.month - 1;
}

bool is_month_end(const Moment& m) {
  const CivilDate civil = civil_from_days(m.days);
  return civil.day == last_day(civil.year, civil.month);
}

/// Returns the number of open days before a day, counted from a fixed Monday.
Index open_days(Index days, Weekdays weekdays) {
  const Index day = weekday_of(days);
  return floor_divided(days + 3, 7) * weekday_count(weekdays) + weekday_count(weekdays & ((1U << day) - 1));
}
/// Returns the day before which there are `count` open days.
Index day_of_open_days(Index count, Weekdays weekdays) {
  const Index weeks = floor_divided(count, weekday_count(weekdays));
  Index left = count - weeks * weekday_count(weekdays), day = 0;
  for (; left > 0 || !has_weekday(weekdays, day); ++day) left -= has_weekday(weekdays, day) ? 1 : 0;
  return weeks * 7 + day - 3;
}

Index local_seconds(const Moment& m) { return m.days * kDaySeconds + m.second; }

std::string time_of_day_text(const Moment& m) {
  const Index second = m.second % 60;
  std::string text = fmt::format("{:02}:{:02}", m.second / 3600, m.second / 60 % 60);
  if (second != 0) text += fmt::format(":{:02}", second);
  return text;
}

/// Formats an ISO 8601 week, which belongs to the year that contains its Thursday.
std::string week_text(Index days) {
  const Index thursday = days - weekday_of(days) + 3;
  const CivilDate civil = civil_from_days(thursday);
  return fmt::format("{:04}-W{:02}", civil.year, (thursday - days_from_civil(civil.year, 1, 1)) / 7 + 1);
}

}  // namespace

std::string format_moment(const Moment& m, DateFormat format) {
  const CivilDate c = civil_from_days(m.days);
  const std::string time = m.has_time ? " " + time_of_day_text(m) : "";
  switch (format) {
    case DateFormat::day_month_year: return fmt::format("{:02}/{:02}/{:04}{}", c.day, c.month, c.year, time);
    case DateFormat::month_day_year: return fmt::format("{:02}/{:02}/{:04}{}", c.month, c.day, c.year, time);
    case DateFormat::month_name: return fmt::format("{:02} {} {:04}{}", c.day, kMonthNames[c.month - 1], c.year, time);
    case DateFormat::year_month: return fmt::format("{:04}-{:02}", c.year, c.month);
    case DateFormat::quarter: return fmt::format("{:04}Q{}", c.year, (c.month - 1) / 3 + 1);
    case DateFormat::week: return week_text(m.days);
    case DateFormat::time_of_day: return time_of_day_text(m);
    case DateFormat::year: return fmt::format("{}", c.year);
    case DateFormat::compact: return fmt::format("{:04}{:02}{:02}", c.year, c.month, c.day);
    case DateFormat::compact_month: return fmt::format("{:04}{:02}", c.year, c.month);
    case DateFormat::unix_seconds: return fmt::format("{}", m.epoch_seconds());
    case DateFormat::unix_milliseconds: return fmt::format("{}", m.epoch_seconds() * 1000 + m.nanosecond / 1000000);
    default: return fmt::format("{:04}-{:02}-{:02}{}", c.year, c.month, c.day, time);
  }
}

std::optional<TimeIndex> TimeIndex::with_step_of(std::span<const Moment> dates, const DateStyle& style) {
  if (dates.size() < 2) return std::nullopt;
  StepTracker tracker;
  for (const Moment& m : dates) tracker.add(m);
  // The tracker needs three dates; if there are only two, a third date at the same distance is added.
  if (dates.size() == 2) {
    Moment next = dates[1];
    const Index months = 2 * months_of(dates[1]) - months_of(dates[0]);
    const CivilDate civil = civil_from_days(dates[1].days);
    const bool by_month = civil.day == civil_from_days(dates[0].days).day && months > months_of(dates[1]);
    const Index seconds = 2 * local_seconds(dates[1]) - local_seconds(dates[0]);
    next.days =
        by_month ? days_from_civil(months / 12, months % 12 + 1, civil.day) : floor_divided(seconds, kDaySeconds);
    next.second = by_month ? dates[1].second : seconds - next.days * kDaySeconds;
    tracker.add(next);
  }
  const DateStep step = tracker.step();
  if (!step.regular) return std::nullopt;
  TimeIndex index;
  index.style_ = style;
  index.step_name_ = step.name;
  if (step.months > 0) {
    index.kind_ = Kind::months;
    index.amount_ = step.months;
    index.month_end_ = std::ranges::all_of(dates, is_month_end);
  } else {
    index.kind_ = step.weekdays != 0 ? Kind::open_days : Kind::seconds;
    index.weekdays_ = step.weekdays;
    index.amount_ = step.seconds;
    if (index.amount_ <= 0) return std::nullopt;
  }
  return index;
}

std::optional<TimeIndex> TimeIndex::of_dates(std::span<const Moment> dates, const DateStyle& style) {
  const auto contains_all = [&](const TimeIndex& tried) {
    return std::ranges::all_of(dates, [&](const Moment& m) { return tried.place(m).has_value(); });
  };
  std::optional<TimeIndex> index = with_step_of(dates, style);
  if (index) index->first_ = dates.front();
  if (index && contains_all(*index)) return index;
  for (const std::vector<Moment>& first_dates : calendars_with_gaps(dates)) {
    index = with_step_of(first_dates, style);
    if (!index) continue;
    index->first_ = dates.front();
    if (contains_all(*index)) return index;
  }
  return std::nullopt;
}

std::optional<TimeIndex> TimeIndex::after(std::span<const Moment> dates, const DateStyle& style) {
  std::optional<TimeIndex> index = with_step_of(dates, style);
  if (index) index->first_ = dates.back();
  return index;
}

Index steps_of_year(double first, double last, double step) {
  constexpr double kFirstYear = 1000, kLastYear = 2200;
  if (!(std::min(first, last) >= kFirstYear && std::max(first, last) <= kLastYear)) return 0;
  for (const Index parts : {2, 3, 4, 6, 12})
    if (std::fabs(step * static_cast<double>(parts) - 1) <= kRoundedYears) return parts;
  return 0;
}

namespace {

/// Returns the start of the month (or other part of the year) if a time is close to it, otherwise the time.
double nearest_part_of_year(double time, Index parts) {
  const double count = static_cast<double>(parts), rounded = std::floor(time * count + 0.5);
  return std::fabs(time * count - rounded) <= kRoundedYears ? rounded / count : time;
}

/// Returns the number of decimals of all times; -1 if there are more than six.
int decimals_of(std::span<const double> times) {
  double unit = 1;
  for (int decimals = 0; decimals <= 6; ++decimals, unit *= 10) {
    const auto is_rounded = [unit](double time) {
      return std::fabs(time * unit - std::floor(time * unit + 0.5)) <= 1e-6 * unit / 1e3;
    };
    if (std::ranges::all_of(times, is_rounded)) return decimals;
  }
  return -1;
}

}  // namespace

std::optional<TimeIndex> TimeIndex::of_numbers(std::span<const double> times) {
  if (times.size() < 2) return std::nullopt;
  std::vector<double> steps;
  for (std::size_t t = 1; t < times.size(); ++t) steps.push_back(times[t] - times[t - 1]);
  std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2));
  TimeIndex index;
  index.kind_ = Kind::numbers;
  index.first_number_ = times.front();
  index.number_step_ = steps[steps.size() / 2];
  if (!(index.number_step_ > 0)) return std::nullopt;
  const auto has_places = [&](const TimeIndex& tried) {
    return std::ranges::all_of(times, [&](double time) { return tried.place(time).has_value(); });
  };
  if (const Index parts = steps_of_year(times.front(), times.back(), index.number_step_); parts > 0) {
    TimeIndex years = index;
    years.per_year_ = parts, years.number_step_ = 1 / static_cast<double>(parts);
    years.decimals_ = decimals_of(times);
    years.first_number_ = nearest_part_of_year(times.front(), parts);
    if (has_places(years)) return years;
  }
  if (!has_places(index)) return std::nullopt;
  return index;
}

TimeIndex TimeIndex::starting_at(const Moment& first) const {
  TimeIndex index = *this;
  index.first_ = first;
  return index;
}

TimeIndex TimeIndex::starting_at(double first) const {
  TimeIndex index = *this;
  index.first_number_ = per_year_ > 0 ? nearest_part_of_year(first, per_year_) : first;
  return index;
}

std::optional<Index> TimeIndex::place(const Moment& m) const {
  switch (kind_) {
    case Kind::seconds: {
      const Index distance = local_seconds(m) - local_seconds(first_);
      if (distance % amount_ != 0 || m.nanosecond != first_.nanosecond) return std::nullopt;
      return distance / amount_;
    }
    case Kind::open_days:
      if (!has_weekday(weekdays_, weekday_of(m.days)) || m.second != first_.second) return std::nullopt;
      return open_days(m.days, weekdays_) - open_days(first_.days, weekdays_);
    case Kind::months: {
      const Index distance = months_of(m) - months_of(first_);
      const Index position = floor_divided(distance, amount_);
      if (distance % amount_ != 0 || m.second != first_.second || moment(position).days != m.days) return std::nullopt;
      return position;
    }
    default: return std::nullopt;
  }
}

std::optional<Index> TimeIndex::place(double time) const {
  const double steps = (time - first_number_) / number_step_, rounded = std::floor(steps + 0.5);
  const double tolerance = per_year_ > 0 ? kRoundedYears : 1e-6 * std::max(1.0, std::fabs(steps));
  if (!(std::fabs(steps - rounded) <= tolerance) || std::fabs(rounded) > 1e15) return std::nullopt;
  return static_cast<Index>(rounded);
}

Moment TimeIndex::moment(Index position) const {
  Moment m = first_;
  if (kind_ == Kind::seconds) {
    const Index seconds = local_seconds(first_) + position * amount_;
    m.days = floor_divided(seconds, kDaySeconds);
    m.second = seconds - m.days * kDaySeconds;
  } else if (kind_ == Kind::open_days) {
    m.days = day_of_open_days(open_days(first_.days, weekdays_) + position, weekdays_);
  } else if (kind_ == Kind::months) {
    const Index months = months_of(first_) + position * amount_, year = floor_divided(months, 12);
    const Index month = months - 12 * year + 1, last = last_day(year, month);
    m.days = days_from_civil(year, month, month_end_ ? last : std::min(last, civil_from_days(first_.days).day));
  }
  return m;
}

std::string TimeIndex::label(Index position) const {
  if (kind_ == Kind::positions) return fmt::format("{}", position + 1);
  const double number = first_number_ + static_cast<double>(position) * number_step_;
  if (kind_ == Kind::numbers && decimals_ >= 0) return fmt::format("{:.{}f}", number, decimals_);
  if (kind_ == Kind::numbers) return fmt::format("{:.12g}", number);
  return style_.write(moment(position));
}

std::vector<Index> TimeIndex::days(Index count) const {
  constexpr Index kLongestStep = 14 * kDaySeconds, kDaysOfYear = 366;
  constexpr Index kDaysBefore[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
  const bool has_days = kind_ == Kind::open_days || kind_ == Kind::seconds;
  std::vector<Index> result;
  if (!has_days || amount_ < kDaySeconds || amount_ > kLongestStep) return result;
  result.reserve(at(count));
  for (Index t = 0; t < count; ++t) {
    const CivilDate civil = civil_from_days(moment(t).days);
    result.push_back(civil.year * kDaysOfYear + kDaysBefore[civil.month - 1] + civil.day - 1);
  }
  return result;
}

std::vector<Index> TimeIndex::calendar_periods() const {
  if (kind_ == Kind::seconds) return forecasting::calendar_periods(static_cast<double>(amount_));
  if (kind_ == Kind::open_days) return {weekday_count(weekdays_)};
  if (per_year_ > 0) return {per_year_};
  if (kind_ == Kind::months && 12 % amount_ == 0 && amount_ < 12) return {12 / amount_};
  return {};
}

}  // namespace unfold::forecasting
