#pragma once
/// Dates that a table divides into columns: `year` with `quarter`, or with `month`, `day` and `hour`.
///
///   year,quarter,gdp     is read as   year,quarter,gdp
///   1959,1,2710.3                     1959Q1,1,2710.3
///   1959,2,2778.8                     1959Q2,2,2778.8
///
/// The cells of the column `year` are replaced with complete dates (YYYYQn, YYYY-MM, YYYY-MM-DD, with HH:MM), so one
/// column contains the complete date of a row. Its original cells are kept for output.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct SchemaOptions;

struct DateParts {
  std::size_t year = 0;
  std::optional<std::size_t> quarter = {}, month = {}, day = {}, hour = {};

  /// Writes the date of a row. Returns false if a part is missing or the parts do not form a date. REQUIRES: the row
  /// has all columns.
  bool compose(const std::vector<std::string_view>& cells, std::string& date) const;
  bool has(std::size_t column) const { return quarter == column || month == column || day == column || hour == column; }
};

/// Returns the columns of the parts by their names, if the first rows match: integers in the range of each part, or
/// English month names. Types specified for the columns take precedence. A column that is predicted is not a part of a
/// date, and neither are parts whose complete date is in another column.
std::optional<DateParts> find_date_parts(const std::vector<std::string>& names,
                                         const std::vector<std::vector<std::string>>& rows,
                                         const SchemaOptions& options);

}  // namespace unfold
