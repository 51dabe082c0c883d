#include "data/schema/date_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "data/cells/civil_date.h"
#include "data/cells/date_cell.h"
#include "data/cells/numeric_cell.h"
#include "data/schema/column_names.h"
#include "data/schema/missing_cells.h"
#include "data/schema/table_schema.h"

namespace unfold {
namespace {

/// Returns the integer of a cell in a range; 1959.0 is 1959.
std::optional<Index> part_of_cell(std::string_view cell, Index least, Index most) {
  const NumberScan scan = scan_number(cell);
  const bool number =
      scan.shape == NumberShape::integer || scan.shape == NumberShape::leading_zero || scan.shape == NumberShape::point;
  if (!number || scan.value != std::floor(scan.value)) return {};
  if (scan.value < static_cast<double>(least) || scan.value > static_cast<double>(most)) return {};
  return static_cast<Index>(scan.value);
}

std::optional<Index> month_of_cell(std::string_view cell) {
  if (const std::optional<Index> number = part_of_cell(cell, 1, 12)) return number;
  const std::optional<Moment> moment = parse_date(fmt::format("{} 2000", cell), DateFormat::month_name);
  return moment ? std::optional(civil_from_days(moment->days).month) : std::nullopt;
}

std::optional<std::size_t> find_part(const std::vector<std::string>& names, std::initializer_list<const char*> kinds) {
  const auto found = std::ranges::find_if(names, [&](const std::string& name) {
    const std::string lower = lower_name(name);
    return std::ranges::any_of(kinds, [&](const char* kind) { return lower == kind; });
  });
  return found == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names.begin()));
}

/// Returns whether the options leave the type of a column to the rules. A model specifies the types of all columns; the
/// type of the year column is a date.
bool are_free(const DateParts& parts, const std::vector<std::string>& names, const SchemaOptions& options) {
  const auto stated = options.types.find(names[parts.year]);
  const bool date = stated != options.types.end() && stated->second.type == ColumnType::date;
  if (stated != options.types.end() && (!date || stated->second.date_format == DateFormat::year)) return false;
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (c != parts.year && !parts.has(c)) continue;
    if (std::ranges::find(options.predict, names[c]) != options.predict.end()) return false;
    if (options.group == names[c] || (c != parts.year && options.order == names[c])) return false;
    if (c != parts.year && !date && options.types.contains(names[c])) return false;
  }
  return true;
}

/// Returns whether a row has a complete date in one of the other columns.
bool has_whole_date(const DateParts& parts, const std::vector<std::string>& row) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (c == parts.year || parts.has(c)) continue;
    const DateScan::Shape shape = scan_date(row[c]).shape;
    if (shape != DateScan::Shape::none && shape != DateScan::Shape::time_of_day) return true;
  }
  return false;
}

}  // namespace

bool DateParts::compose(const std::vector<std::string_view>& cells, std::string& date) const {
  const std::optional<Index> y = part_of_cell(cells[year], 1000, 2999);
  if (!y) return false;
  date.clear();
  const auto out = std::back_inserter(date);
  if (quarter) {
    const std::optional<Index> q = part_of_cell(cells[*quarter], 1, 4);
    if (q) fmt::format_to(out, "{:04}Q{}", *y, *q);
    return q.has_value();
  }
  const std::optional<Index> m = month_of_cell(cells[*month]);
  if (!m) return false;
  fmt::format_to(out, "{:04}-{:02}", *y, *m);
  if (!day) return true;
  const std::optional<Index> d = part_of_cell(cells[*day], 1, 31);
  if (!d || !is_valid_date(*y, *m, *d)) return false;
  fmt::format_to(out, "-{:02}", *d);
  if (!hour) return true;
  const std::optional<Index> h = part_of_cell(cells[*hour], 0, 23);
  if (h) fmt::format_to(out, " {:02}:00", *h);
  return h.has_value();
}

std::optional<DateParts> find_date_parts(const std::vector<std::string>& names,
                                         const std::vector<std::vector<std::string>>& rows,
                                         const SchemaOptions& options) {
  const std::optional<std::size_t> year = find_part(names, {"year", "yr", "yyyy", "jahr"});
  if (!year || !options.date_parts) return {};
  DateParts parts{.year = *year,
                  .quarter = find_part(names, {"quarter", "qtr", "q", "quartal"}),
                  .month = find_part(names, {"month", "mon", "mo", "mm", "monat"})};
  if (parts.month) {
    parts.quarter.reset();
    parts.day = find_part(names, {"day", "dd", "mday", "dayofmonth", "day_of_month", "tag"});
  }
  if (parts.day) parts.hour = find_part(names, {"hour", "hr", "hh", "stunde"});
  if ((!parts.month && !parts.quarter) || !are_free(parts, names, options)) return {};
  Index dates = 0;
  std::vector<std::string_view> cells;
  std::string date;
  for (const std::vector<std::string>& row : rows) {
    if (row.size() != names.size() || missing_spelling(row[*year]) != MissingSpelling::none) continue;
    if (has_whole_date(parts, row)) return {};
    cells.assign(row.begin(), row.end());
    if (!parts.compose(cells, date)) return {};
    ++dates;
  }
  return dates > 0 ? std::optional(parts) : std::nullopt;
}

}  // namespace unfold
