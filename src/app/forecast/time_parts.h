#pragma once
/// Times that a table divides into two columns: a date with the time of day or the hour, or a year with the week.
///
///     Date,Hour,Calls       is read as   2024-03-01 05:00
///     2024-03-01,5,16
///
/// The hours are 0 to 23, or 1 to 24 if these are the ends of the hours (1 is read as 00:00). Periods are equal parts
/// of a day, such as 1 to 48 for half-hours (1 is read as 00:00). Weeks are those of ISO 8601.

#include <optional>
#include <string>
#include <string_view>

#include "data/schema/table_schema.h"

namespace unfold {

/// The second column of such a time.
struct TimePart {
  enum class Kind { time_of_day, hour, hour_end, period, week };
  std::string column = {};
  Kind kind = Kind::hour;
  Index periods = 0;  ///< number of periods of a day
};

/// Returns the column that continues the dates of the column `dates`: a column of times of day, or one that is named
/// like hours, periods or weeks and has integers in their range. Columns that options predict or use as the group are
/// not parts.
std::optional<TimePart> find_time_part(const TableSchema& schema, const ColumnSchema& dates,
                                       const SchemaOptions& options);

/// Returns the text of a whole time, such as "2024-03-01 05:00" or "2021-W05"; empty if the cells do not form a time.
std::string joined_time(std::string_view date, std::string_view cell, const TimePart& part);

/// Returns the moment of such a text. `format`: of the dates.
std::optional<Moment> joined_moment(std::string_view date, std::string_view cell, const TimePart& part,
                                    DateFormat format);

}  // namespace unfold
