#include "app/forecast/cell_rows.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "data/schema/describe_schema.h"
#include "data/schema/missing_cells.h"
#include "unfold/base/error.h"

namespace unfold {

using forecasting::DateStyle;
using forecasting::TimeIndex;

bool CellRows::next(TableRow& row) {
  while (position_ < text_.size()) {
    if (splitter_.next(text_, position_, true, row) != RowSplitter::Result::row) return false;
    const bool empty = row.cells.size() == 1 && row.cells[0].empty() && layout_.columns > 1;
    if (row.comment || empty || row.line < layout_.first_line) continue;
    if (layout_.header && !header_read_) {
      header_read_ = true;
      continue;
    }
    return true;
  }
  return false;
}

std::optional<NamedTimes> times_of_names(std::span<const std::string> names) {
  for (int k = 0; k < kDateFormats; ++k) {
    const auto format = static_cast<DateFormat>(k);
    if (format == DateFormat::time_of_day) continue;
    std::vector<Moment> dates;
    for (const std::string& name : names) {
      const std::optional<Moment> moment = parse_date(name, format);
      if (!moment) break;
      dates.push_back(*moment);
    }
    if (dates.size() != names.size()) continue;
    const DateStyle style = DateStyle::of_cells(std::vector<std::string>(names.begin(), names.end()), format);
    const std::optional<TimeIndex> index = TimeIndex::of_dates(dates, style);
    if (!index) continue;
    NamedTimes times{.index = *index, .places = {}};
    for (const Moment& date : dates) times.places.push_back(*index->place(date));
    constexpr Index kMostGaps = 100;  // maximum ratio of positions to columns
    const bool ascending = std::ranges::adjacent_find(times.places, std::greater_equal<>()) == times.places.end();
    if (ascending && times.places.back() < kMostGaps * static_cast<Index>(names.size() + 10)) return times;
  }
  return std::nullopt;
}

std::optional<double> number_of_cell(std::string_view cell, const SchemaOptions& options) {
  if (is_missing_cell(cell, options.missing, /*marks=*/true)) return std::numeric_limits<double>::quiet_NaN();
  const NumberConvention convention{options.decimal.value_or(DecimalMark::point),
                                    options.thousands.value_or(ThousandsMark::none)};
  return parse_number(cell, convention);
}

double required_number(const std::string& source, const TableRow& row, std::size_t i, const SchemaOptions& options) {
  constexpr std::size_t kShownBytes = 40;
  const std::string_view cell = row.cells[i];
  const std::optional<double> value = number_of_cell(cell, options);
  if (!value)
    throw DataError(fmt::format("{}: line {}: \"{}\" in cell {} is not a number", source, row.line,
                                escape_cell(cell, kShownBytes), i + 1));
  return *value;
}

}  // namespace unfold
