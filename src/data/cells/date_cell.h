#pragma once
/// Dates and times as people write them in tables.
///
/// `scan_date` reads a cell without deciding between 31/12 and 12/31; the column decides (`DateFormat`), and
/// `parse_date` then returns the moment. Dates follow the proleptic Gregorian calendar, years 1 to 9999.

#include <optional>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

enum class DateFormat {
  year_month_day,     ///< 2024-01-31, 2024/01/31, 2024.01.31
  day_month_year,     ///< 31.01.2024, 31.01.24, 31/01/2024, 31/01/24, 31-01-2024
  month_day_year,     ///< 01/31/2024
  month_name,         ///< 31 Jan 2024, January 31, 2024, Jan 2024, 31-Jan-2024, 31-Jan-24, Jan-24
  year_month,         ///< 2024-01
  quarter,            ///< 2024Q1, 2024-Q1, Q1 2024
  week,               ///< 2024-W05
  time_of_day,        ///< 10:30, 10:30:15.5
  year,               ///< 2024, if the name of the column indicates dates, as for the following formats
  compact,            ///< 20240131
  unix_seconds,       ///< 1706659200
  unix_milliseconds,  ///< 1706659200000
  compact_month,      ///< 202401
};
inline constexpr int kDateFormats = static_cast<int>(DateFormat::compact_month) + 1;

/// Returns the pattern of a format, as used in messages and options: "YYYY-MM-DD".
const char* date_pattern(DateFormat format);
/// Returns the format of a pattern; nothing if there is no such pattern.
std::optional<DateFormat> date_format_of(std::string_view pattern);

/// A point in time.
struct Moment {
  Index days = 0;                  ///< days since 1970-01-01, in the zone of the cell
  Index second = 0;                ///< second of the day, 0 to 86399, in the zone of the cell
  Index nanosecond = 0;            ///< nanosecond of the second
  bool has_time = false;           ///< the cell has a time of day
  std::optional<Index> zone = {};  ///< minutes east of UTC, if specified

  /// Returns the seconds since 1970-01-01 00:00 UTC; a cell without a zone is taken as UTC.
  Index epoch_seconds() const { return days * 86400 + second - zone.value_or(0) * 60; }
  double seconds() const { return static_cast<double>(epoch_seconds()) + static_cast<double>(nanosecond) * 1e-9; }
};

struct DateScan {
  enum class Shape {
    none,
    year_first,
    day_or_month_first,  ///< 03/04/2024: `moment` has the day first, `month_first` the month first
    day_first,           ///< 31/12/2024
    month_first,         ///< 12/31/2024
    month_name,
    year_month,
    quarter,
    week,
    time_of_day
  };
  Shape shape = Shape::none;
  char separator = 0;  ///< separator between the numbers of a date
  Moment moment;
  Moment month_first;
};

DateScan scan_date(std::string_view text);
/// Returns the integer of a cell as a date: year, compact or Unix time; nothing if it is out of range for the format.
std::optional<Moment> date_of_integer(Index number, DateFormat format);

/// Returns a year without the decimals that a floating-point number has, 1959 for 1959.0; other texts unchanged.
std::string_view without_zero_decimals(std::string_view text);

/// Returns the moment of a cell, or nothing if the text is not a date in this format.
std::optional<Moment> parse_date(std::string_view text, DateFormat format);

}  // namespace unfold
