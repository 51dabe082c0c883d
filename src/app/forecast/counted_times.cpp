#include "app/forecast/counted_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "app/forecast/cell_rows.h"
#include "base/printable.h"
#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"

namespace unfold {
namespace {

constexpr double kLargestInteger = 1e15;
constexpr Index kLeastTimes = 4, kLargestGapShare = 2;

bool is_named(const std::vector<std::string>& names, const ColumnSchema& column) {
  return std::ranges::find(names, column.name) != names.end();
}

bool may_be_times(const ColumnSchema& column, const SchemaOptions& options) {
  return column.type == ColumnType::integer && column.missing == 0 && column.entries() >= kLeastTimes &&
         (is_date_name(column.name) || is_position_name(column.name)) && !is_named(options.predict, column) &&
         !is_named(options.read, column);
}

bool may_identify_series(const ColumnSchema& column, const SchemaOptions& options) {
  const bool texts = column.type == ColumnType::category && !column.class_labels;
  const bool numbers = column.type == ColumnType::integer || column.type == ColumnType::identifier;
  return column.missing == 0 && column.distinct > 1 && 2 * column.distinct <= column.entries() &&
         (texts || (numbers && (is_group_name(column.name) || is_identifier_name(column.name)))) &&
         !is_named(options.predict, column) && !is_named(options.read, column);
}

/// The times of each series, by the cells that identify it.
using TimesOfSeries = std::map<std::string, std::vector<Index>>;

/// Returns an empty map if a cell is not an integer.
TimesOfSeries read_times(const ReaderText& text, const SchemaOptions& options, std::size_t order,
                         const std::vector<std::size_t>& groups) {
  TimesOfSeries times;
  CellRows rows(text, options);
  TableRow row;
  while (rows.next(row)) {
    std::string name;
    const auto is_short = [&](std::size_t i) { return i >= row.cells.size(); };
    if (is_short(order) || std::ranges::any_of(groups, is_short)) return {};
    for (const std::size_t i : groups) name.append(row.cells[i]) += '\n';
    const std::optional<double> time = number_of_cell(row.cells[order], options);
    if (!time || !(std::fabs(*time) < kLargestInteger) || *time != std::floor(*time)) return {};
    times[name].push_back(static_cast<Index>(*time));
  }
  return times;
}

/// Sorts the times and returns whether they are different and have few gaps.
bool count_steps(TimesOfSeries& times) {
  Index step = 0;
  for (auto& [name, one] : times) {
    std::ranges::sort(one);
    if (std::ranges::adjacent_find(one) != one.end()) return false;
    for (std::size_t t = 1; t < one.size(); ++t) step = std::gcd(step, one[t] - one[t - 1]);
  }
  return step > 0 && std::ranges::all_of(times, [&](const auto& entry) {
           const std::vector<Index>& one = entry.second;
           return (one.back() - one.front()) / step < kLargestGapShare * static_cast<Index>(one.size());
         });
}

}  // namespace

std::optional<CountedTimes> find_counted_times(const ReaderText& text, const TableSchema& schema,
                                               const SchemaOptions& options, const std::vector<std::size_t>& groups) {
  const std::vector<ColumnSchema>& columns = schema.columns;
  const auto order = std::ranges::find_if(columns, [&](const auto& column) { return may_be_times(column, options); });
  if (order == columns.end()) return std::nullopt;
  CountedTimes found{.order = static_cast<std::size_t>(order - columns.begin())};
  const auto are_times = [&](const std::vector<std::size_t>& keys) {
    TimesOfSeries times = read_times(text, options, found.order, keys);
    return count_steps(times);
  };
  if (are_times(groups)) {
    found.note = fmt::format("{}: the integers of column {} are read as times; --order chooses a different column",
                             text.source(), in_quotes(order->name));
    return found;
  }
  if (!groups.empty() || order->distinct == order->entries()) return std::nullopt;
  std::string candidate;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == found.order || !may_identify_series(columns[i], options)) continue;
    if (candidate.empty()) candidate = columns[i].name;
    if (!are_times({i})) continue;
    found.group = i;
    found.note = fmt::format(
        "{}: the integers of column {} are read as times, and column {} as the group; --order and --group choose "
        "different columns",
        text.source(), in_quotes(order->name), in_quotes(columns[i].name));
    return found;
  }
  if (candidate.empty()) return std::nullopt;
  found.order = SeriesRoles::kNone;
  found.note = fmt::format(
      "{}: the rows are read as one series in the order of the file, although column {} has equal values; if columns "
      "such as {} identify several series, use --group {}",
      text.source(), in_quotes(order->name), in_quotes(candidate), escape_cell(candidate, 40));
  return found;
}

}  // namespace unfold
