#include "app/forecast/row_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using forecasting::TimeIndex;
constexpr std::size_t kLeastRowColumns = 8;   // minimum number of columns of a table with one row per series
constexpr std::size_t kLeastDateColumns = 2;  // minimum number of columns if the names are dates

/// Returns whether names consist of a prefix and consecutive numbers: V2, V3, V4.
bool are_consecutive(std::span<const std::string> names) {
  std::string prefix;
  Index before = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t digits = names[i].find_last_not_of("0123456789") + 1;
    Index number = 0;
    const char* end = names[i].data() + names[i].size();
    if (digits == names[i].size() || std::from_chars(names[i].data() + digits, end, number).ptr != end) return false;
    if (i == 0) prefix = names[i].substr(0, digits);
    if (names[i].compare(0, digits, prefix) != 0 || digits != prefix.size()) return false;
    if (i > 0 && number != before + 1) return false;
    before = number;
  }
  return true;
}

/// Returns whether a row has all its cells, and numbers from the cell `first` on.
bool is_readable_row(const TableRow& row, std::size_t columns, std::size_t first, const SchemaOptions& options) {
  return row.cells.size() == columns &&
         std::all_of(row.cells.begin() + static_cast<Index>(first), row.cells.end(),
                     [&](std::string_view cell) { return number_of_cell(cell, options).has_value(); });
}

/// Returns the index of the first column whose name is a year or date, after the columns that name the series; 0:
/// there is none.
std::size_t first_period(const TableLayout& layout) {
  if (layout.periods.size() < kLeastDateColumns || layout.periods.size() >= layout.names.size()) return 0;
  const std::size_t first = layout.names.size() - layout.periods.size();
  return layout.names[first] == layout.periods.front() ? first : 0;
}

}  // namespace

bool has_series_in_rows(const TableLayout& layout, const SchemaOptions& options) {
  if (!layout.header || options.order || !options.predict.empty()) return false;
  const std::span<const std::string> names = std::span(layout.names).subspan(1);
  if (layout.names.size() >= kLeastRowColumns && are_consecutive(names)) return true;
  const std::size_t first = first_period(layout);
  return first > 0 && index_of_names(std::span(layout.names).subspan(first)).has_value();
}

SeriesTable read_row_series(const std::string& source, TableRows& rows, const SchemaOptions& options) {
  SeriesTable table{.series = {}, .fields = {"value"}, .has_groups = true, .notes = {}};
  const std::size_t first = std::max<std::size_t>(first_period(rows.layout()), 1);
  const TimeIndex index = index_of_names(std::span(rows.layout().names).subspan(first)).value_or(TimeIndex{});
  TableRow row;
  Index skipped = 0;
  while (rows.next(row)) {
    if (options.bad_rows == BadRows::skip && !is_readable_row(row, rows.layout().columns, first, options)) {
      ++skipped;
      continue;
    }
    if (row.cells.size() != rows.layout().columns)
      throw DataError(fmt::format("{}: line {}: the row has {} cells, but the header has {}", source, row.line,
                                  row.cells.size(), rows.layout().columns));
    TableSeries& series = table.series.emplace_back();
    series.group = row.cells[0], series.field = "value", series.index = index;
    for (std::size_t i = first; i < row.cells.size(); ++i)
      series.values.push_back(required_number(source, row, i, options));
    while (!series.values.empty() && std::isnan(series.values.back())) series.values.pop_back();
  }
  if (skipped > 0) table.notes.push_back(fmt::format("{}: {} rows are skipped", source, skipped));
  table.notes.push_back(fmt::format("{}: one series per row, {} series", source, table.series.size()));
  return table;
}

}  // namespace unfold
