#include "app/forecast/month_table.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "data/cells/civil_date.h"
#include "data/schema/describe_schema.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kMonths = 12;

std::string missing_years(const std::string& source, Index line, Index first, Index last) {
  const std::string years = first == last ? fmt::format("the year {} is missing", first)
                                          : fmt::format("the years {} to {} are missing", first, last);
  return fmt::format("{}: line {}: {}; add a row with the year and 12 empty cells for {}", source, line, years,
                     first == last ? "it" : "each of them");
}

}  // namespace

bool has_month_columns(const TableLayout& layout, const SchemaOptions& options) {
  if (!layout.header || options.order || options.group || !options.predict.empty()) return false;
  return are_year_and_months(layout.names);
}

SeriesTable read_month_table(const std::string& source, CellRows& rows, const SchemaOptions& options) {
  SeriesTable table{.series = {}, .fields = {"value"}, .has_groups = false, .notes = {}};
  TableSeries series{.field = "value"};
  std::vector<std::string> months;
  Index before = 0;
  TableRow row;
  while (rows.next(row)) {
    const std::optional<Moment> moment = parse_date(row.cells[0], DateFormat::year);
    const Index year = moment ? civil_from_days(moment->days).year : 0;
    if (moment && before != 0 && year > before + 1 && row.cells.size() == kMonths + 1)
      throw DataError(missing_years(source, row.line, before + 1, year - 1));
    if (!moment || (before != 0 && year != before + 1) || row.cells.size() != kMonths + 1)
      throw DataError(fmt::format(
          "{}: line {}: a table with a column for each month has a row of 13 cells for each "
          "year, in order; \"{}\" does not follow {}",
          source, row.line, escape_cell(row.cells[0], 40), before != 0 ? std::to_string(before) : "the header"));
    before = year;
    for (std::size_t m = 1; m <= kMonths; ++m) {
      months.push_back(fmt::format("{:04}-{:02}", year, m));
      series.values.push_back(required_number(source, row, m, options));
    }
  }
  while (!series.values.empty() && std::isnan(series.values.back())) series.values.pop_back();
  if (const std::optional<NamedTimes> times = times_of_names(months)) series.index = times->index;
  table.notes.push_back(
      fmt::format("{}: one monthly series of {} values, from a row per year", source, series.values.size()));
  table.series.push_back(std::move(series));
  return table;
}

}  // namespace unfold
