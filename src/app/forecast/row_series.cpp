#include "app/forecast/row_series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "data/schema/describe_schema.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kLeastRowColumns = 8;         // minimum number of columns of a table with one row per series
constexpr std::size_t kLeastDateColumns = 2;        // minimum number of columns if the names are dates
constexpr std::size_t kLeastDatesBeforeOthers = 3;  // and if other columns follow them

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

/// The columns of a table that contain the values of the series.
struct ValueColumns {
  std::size_t first = 1, count = 0;
  std::size_t end() const { return first + count; }
};

/// Returns whether a row has all its cells, and numbers in the columns of the values.
bool is_readable_row(const TableRow& row, std::size_t columns, const ValueColumns& values,
                     const SchemaOptions& options) {
  if (row.cells.size() != columns) return false;
  return std::ranges::all_of(std::span(row.cells).subspan(values.first, values.count),
                             [&](std::string_view cell) { return number_of_cell(cell, options).has_value(); });
}

/// Returns the columns whose names are years or dates, after the columns that name the series. Fewer columns may follow
/// them, such as a total. Nothing: there are none, or they are not adjacent.
std::optional<ValueColumns> period_columns(const TableLayout& layout) {
  const std::vector<std::string>& periods = layout.periods;
  if (periods.size() < kLeastDateColumns) return {};
  const auto begin = std::ranges::find(layout.names, periods.front());
  const ValueColumns found{.first = at(begin - layout.names.begin()), .count = periods.size()};
  if (found.first == 0 || found.end() > layout.names.size()) return {};
  if (!std::equal(periods.begin(), periods.end(), begin)) return {};
  const std::size_t behind = layout.names.size() - found.end();
  if (behind > 0 && (periods.size() < kLeastDatesBeforeOthers || behind >= periods.size())) return {};
  return found;
}

/// Returns a note on the columns after those of the values.
std::string note_left_out(const std::string& source, std::span<const std::string> names) {
  constexpr std::size_t kMostNamed = 3, kShownBytes = 40;
  std::vector<std::string> quoted;
  for (const std::string& name : names.first(std::min(names.size(), kMostNamed)))
    quoted.push_back(fmt::format("\"{}\"", escape_cell(name, kShownBytes)));
  if (names.size() > kMostNamed) quoted.push_back(fmt::format("{} others", names.size() - kMostNamed));
  return fmt::format("{}: the column{} after the dates ({}) {} left out", source, names.size() == 1 ? "" : "s",
                     fmt::join(quoted, ", "), names.size() == 1 ? "is" : "are");
}

}  // namespace

bool has_series_in_rows(const TableLayout& layout, const SchemaOptions& options) {
  if (!layout.header || options.order || !options.predict.empty()) return false;
  const std::span<const std::string> names = std::span(layout.names).subspan(1);
  if (layout.names.size() >= kLeastRowColumns && are_consecutive(names)) return true;
  const std::optional<ValueColumns> periods = period_columns(layout);
  return periods && times_of_names(std::span(layout.names).subspan(periods->first, periods->count)).has_value();
}

SeriesTable read_row_series(const std::string& source, CellRows& rows, const SchemaOptions& options) {
  SeriesTable table{.series = {}, .fields = {"value"}, .has_groups = true, .notes = {}};
  const std::span<const std::string> names = rows.layout().names;
  const ValueColumns values =
      period_columns(rows.layout()).value_or(ValueColumns{.first = 1, .count = names.size() - 1});
  const std::optional<NamedTimes> times = times_of_names(names.subspan(values.first, values.count));
  TableRow row;
  Index skipped = 0;
  while (rows.next(row)) {
    if (options.bad_rows == BadRows::skip && !is_readable_row(row, rows.layout().columns, values, options)) {
      ++skipped;
      continue;
    }
    if (row.cells.size() != rows.layout().columns)
      throw DataError(fmt::format("{}: line {}: the row has {} cells, but the header has {}", source, row.line,
                                  row.cells.size(), rows.layout().columns));
    TableSeries& series = table.series.emplace_back();
    series.group = row.cells[0], series.field = "value";
    if (times) series.index = times->index;
    for (std::size_t i = values.first; i < values.end(); ++i) {
      if (times) series.values.resize(at(times->places[i - values.first]), std::numeric_limits<double>::quiet_NaN());
      series.values.push_back(required_number(source, row, i, options));
    }
    while (!series.values.empty() && std::isnan(series.values.back())) series.values.pop_back();
  }
  if (skipped > 0) table.notes.push_back(fmt::format("{}: {} rows are skipped", source, skipped));
  table.notes.push_back(fmt::format("{}: one series per row, {} series", source, table.series.size()));
  if (times && times->places.back() >= static_cast<Index>(values.count))
    table.notes.push_back(
        fmt::format("{}: the names of the columns leave out {} of {} times; they are read as missing "
                    "values",
                    source, times->places.back() + 1 - static_cast<Index>(values.count), times->places.back() + 1));
  if (values.end() < names.size()) table.notes.push_back(note_left_out(source, names.subspan(values.end())));
  return table;
}

}  // namespace unfold
