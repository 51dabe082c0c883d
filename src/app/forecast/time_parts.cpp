#include "app/forecast/time_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "data/cells/numeric_cell.h"
#include "data/schema/column_names.h"

namespace unfold {
namespace {

constexpr double kLastHour = 23, kLastHourEnd = 24, kLastWeek = 53;
constexpr Index kSecondsPerHour = 3600;

template <std::size_t n>
bool has_name(const ColumnSchema& column, const std::array<const char*, n>& names) {
  const std::string lower = lower_name(column.name);
  return std::ranges::any_of(names, [&](const char* name) { return lower == name; });
}

bool has_hour_name(const ColumnSchema& column) {
  return has_name(column, std::array{"hour", "hours", "hr", "hh", "hour_of_day", "hourofday", "hour of day",
                                     "hour_ending", "hourending", "hour ending", "he", "stunde"});
}

bool has_period_name(const ColumnSchema& column) {
  return has_name(column, std::array{"period", "settlement_period", "settlementperiod", "settlement period", "sp",
                                     "half_hour", "half hour", "halfhour", "quarter_hour", "quarter hour", "interval",
                                     "time_period", "time period", "trading_period", "trading period"});
}

/// Returns whether a column has all numbers from 1 to the number of hours, half-hours or quarter-hours of a day.
bool numbers_parts_of_day(const ColumnSchema& column, double least, double most) {
  constexpr double kNumbers[] = {24, 48, 96};
  return least == 1 && std::ranges::find(kNumbers, most) != std::end(kNumbers) &&
         column.distinct == static_cast<Index>(most);
}

bool has_week_name(const ColumnSchema& column) {
  return has_name(
      column, std::array{"week", "wk", "weeknumber", "week_number", "week number", "weekno", "week_no", "week_of_year",
                         "weekofyear", "week of year", "isoweek", "iso_week", "woche", "kw"});
}

bool is_whole_date(const ColumnSchema& dates) {
  switch (*dates.date_format) {
    case DateFormat::year_month_day:
    case DateFormat::day_month_year:
    case DateFormat::month_day_year:
    case DateFormat::month_name:
    case DateFormat::compact: return !dates.has_time;
    default: return false;
  }
}

/// Returns how a column continues the dates.
std::optional<TimePart> part_of(const ColumnSchema& column, const ColumnSchema& dates) {
  using Kind = TimePart::Kind;
  const auto part = [&](Kind kind, Index periods = 0) {
    return TimePart{.column = column.name, .kind = kind, .periods = periods};
  };
  const bool whole = is_whole_date(dates);
  if (column.type == ColumnType::date) {
    const bool clock = column.date_format == DateFormat::time_of_day && !is_duration_name(column.name);
    return whole && clock ? std::optional(part(Kind::time_of_day)) : std::nullopt;
  }
  if (column.type != ColumnType::integer || !column.least || !column.most) return std::nullopt;
  const double least = *column.least, most = *column.most;
  if (whole && has_hour_name(column) && least >= 0) {
    if (most <= kLastHour) return part(Kind::hour);
    if (least >= 1 && most == kLastHourEnd) return part(Kind::hour_end);
  }
  if (whole && has_period_name(column) && numbers_parts_of_day(column, least, most))
    return part(Kind::period, static_cast<Index>(most));
  if (dates.date_format == DateFormat::year && has_week_name(column) && least >= 1 && most <= kLastWeek)
    return part(Kind::week);
  return std::nullopt;
}

std::optional<Index> integer_of(std::string_view cell) {
  const NumberScan scan = scan_number(cell);
  if (scan.shape == NumberShape::none || !(std::fabs(scan.value) < 1e4) || scan.value != std::floor(scan.value))
    return std::nullopt;
  return static_cast<Index>(scan.value);
}

/// Returns the second of the day of a time of day, an hour or a period.
std::optional<Index> second_of_day(std::string_view cell, const TimePart& part) {
  if (part.kind == TimePart::Kind::time_of_day) {
    const std::optional<Moment> moment = parse_date(cell, DateFormat::time_of_day);
    return moment ? std::optional(moment->second) : std::nullopt;
  }
  const bool is_period = part.kind == TimePart::Kind::period;
  const Index count = is_period ? part.periods : static_cast<Index>(kLastHourEnd);
  std::optional<Index> number = integer_of(cell);
  if (number && (is_period || part.kind == TimePart::Kind::hour_end)) --*number;
  const bool in_day = number && *number >= 0 && *number < count;
  return in_day ? std::optional(*number * (static_cast<Index>(kLastHourEnd) * kSecondsPerHour / count)) : std::nullopt;
}

}  // namespace

std::optional<TimePart> find_time_part(const TableSchema& schema, const ColumnSchema& dates,
                                       const SchemaOptions& options) {
  if (dates.type != ColumnType::date || !dates.date_format || schema.date_parts) return std::nullopt;
  if (dates.distinct >= dates.entries()) return std::nullopt;
  for (const ColumnSchema& column : schema.columns) {
    const bool is_predicted = std::ranges::find(options.predict, column.name) != options.predict.end();
    if (&column == &dates || is_predicted || options.group == column.name || column.missing > 0) continue;
    if (std::optional<TimePart> part = part_of(column, dates)) return part;
  }
  return std::nullopt;
}

std::string joined_time(std::string_view date, std::string_view cell, const TimePart& part) {
  if (part.kind == TimePart::Kind::week) {
    const std::optional<Index> year = integer_of(date), week = integer_of(cell);
    return year && week ? fmt::format("{:04}-W{:02}", *year, *week) : std::string();
  }
  const std::optional<Index> second = second_of_day(cell, part);
  if (!second) return {};
  constexpr Index kMinute = 60;
  const Index hour = *second / kSecondsPerHour, minute = *second / kMinute % kMinute, rest = *second % kMinute;
  return fmt::format("{} {:02}:{:02}{}", date, hour, minute, rest > 0 ? fmt::format(":{:02}", rest) : "");
}

std::optional<Moment> joined_moment(std::string_view date, std::string_view cell, const TimePart& part,
                                    DateFormat format) {
  if (part.kind == TimePart::Kind::week) return parse_date(joined_time(date, cell, part), DateFormat::week);
  std::optional<Moment> moment = parse_date(date, format);
  const std::optional<Index> second = second_of_day(cell, part);
  if (!moment || !second) return std::nullopt;
  moment->second = *second;
  moment->has_time = true;
  return moment;
}

}  // namespace unfold
