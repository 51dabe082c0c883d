/// Hints about contents of a column that suggest a type other than the one that was decided.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/options/shell_argument.h"
#include "data/cells/date_scan.h"
#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/column_profile.h"
#include "data/schema/inference/column_shares.h"
#include "data/schema/missing_cells.h"

namespace unfold {
namespace {

/// Words for missing values are reported if they are more than this share of a column of classes.
constexpr double kRareMissingShare = 0.05;

/// Returns whether a cell is a default word for missing values that may also be the name of a class: None, NA, null.
bool is_word_for_missing(std::string_view cell, const MissingCells& missing) {
  const bool stated = std::ranges::find(missing.spellings, cell) != missing.spellings.end();
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !stated && std::ranges::all_of(cell, is_letter);
}

}  // namespace

std::string ColumnProfile::hint_of(const ColumnSchema& column) const {
  switch (column.type) {
    case ColumnType::number:
    case ColumnType::integer: return hint_of_number(column);
    case ColumnType::category:
      if (const Kind* words = kinds_[kWord].get();
          words != nullptr && words->count > kRareMissingShare * static_cast<double>(column.rows) &&
          is_word_for_missing(words->cells[0].text, *missing_))
        return fmt::format(
            "{} cells such as \"{}\", first in line {}, are missing values, not a value of this column; if they are a "
            "value, use --default-missing no, and --missing for the cells that are missing in other columns",
            words->count, escape_cell(words->cells[0].text, kMostOddBytes), words->cells[0].line);
      if (column.distinct == 1 && column.missing > 0)
        return fmt::format(
            "all {} entries are \"{}\", and {} cells are empty or missing; if an empty cell has a meaning, such as no, "
            "write it into the cells",
            column.entries(), escape_cell(column.examples[0], kMostOddBytes), column.missing);
      [[fallthrough]];
    case ColumnType::text:
    case ColumnType::identifier: return hint_of_text(column);
    case ColumnType::date: return hint_of_mixed_dates(column);
    default: return {};
  }
}

const OddCell* ColumnProfile::first_cell(std::initializer_list<DateScan::Shape> shapes) const {
  const OddCell* first = nullptr;
  for (const DateScan::Shape shape : shapes) {
    const Kind* kind = kinds_[at(kDates + static_cast<int>(shape))].get();
    if (kind != nullptr && (first == nullptr || kind->cells[0].line < first->line)) first = &kind->cells[0];
  }
  return first;
}

/// Returns the number of dates in each format with the first line of each, if almost all entries are dates but no
/// format fits almost all.
std::string ColumnProfile::hint_of_dates(const ColumnSchema& column) const {
  using Shape = DateScan::Shape;
  if (!fits_nearly(all_dates(), column.entries())) return {};
  const bool month_first = slash_format() == DateFormat::month_day_year;
  std::vector<std::string> formats;
  const auto add = [&](DateFormat format, std::initializer_list<Shape> shapes) {
    Index count = 0;
    for (const Shape shape : shapes) count += dates(shape);
    if (const OddCell* cell = first_cell(shapes))
      formats.push_back(fmt::format("{} as {}, first \"{}\" in line {}", count, date_pattern(format),
                                    escape_cell(cell->text, kMostOddBytes), cell->line));
  };
  add(DateFormat::year_month_day, {Shape::year_first});
  // Dates that fit both orders are counted with the more frequent one.
  add(DateFormat::day_month_year, {Shape::day_first, month_first ? Shape::none : Shape::day_or_month_first});
  add(DateFormat::month_day_year, {Shape::month_first, month_first ? Shape::day_or_month_first : Shape::none});
  add(DateFormat::month_name, {Shape::month_name});
  add(DateFormat::year_month, {Shape::year_month});
  add(DateFormat::quarter, {Shape::quarter});
  add(DateFormat::week, {Shape::week});
  add(DateFormat::time_of_day, {Shape::time_of_day});
  const Index undecided = dates(Shape::year_first) + dates(Shape::day_or_month_first);
  const std::string name = shell_argument(name_);
  const std::string remedy =
      fits_nearly(undecided, column.entries())
          ? fmt::format(
                "no date shows whether the day or the month is first; use --types {0}=date:DD/MM/YYYY or --types "
                "{0}=date:MM/DD/YYYY to read all of them",
                name)
          : "write all dates in one format to read them as dates";
  return fmt::format("{} of {} values are dates, but in different formats ({}), so they are read as {}; {}",
                     all_dates(), column.entries(), fmt::join(formats, "; "), type_name(column.type), remedy);
}

/// Returns how many dates have each format, and which cell shows the order, if two formats are read together.
std::string ColumnProfile::hint_of_mixed_dates(const ColumnSchema& column) const {
  using Shape = DateScan::Shape;
  const DateFormat format = column.date_format.value_or(DateFormat::year_month_day);
  const OddCell* year_first = first_cell({Shape::year_first});
  if (!also_reads_year_first(format) || year_first == nullptr) return {};
  const OddCell* slashes = first_cell({Shape::day_or_month_first, Shape::day_first, Shape::month_first});
  const bool day = format == DateFormat::day_month_year;
  const OddCell* shows = first_cell({day ? Shape::day_first : Shape::month_first});
  if (slashes == nullptr && column.stated)
    return fmt::format("all dates are read as YYYY-MM-DD, and none is written as {}; leave out its --types",
                       date_pattern(format));
  if (slashes == nullptr || column.stated) return {};
  const std::string order =
      shows == nullptr ? ""
                       : fmt::format("; \"{}\" in line {} shows that the {} is first",
                                     escape_cell(shows->text, kMostOddBytes), shows->line, day ? "day" : "month");
  return fmt::format("{} dates are read as YYYY-MM-DD (first in line {}) and {} as {} (first in line {}){}",
                     dates(Shape::year_first), year_first->line, date_cells(format), date_pattern(format),
                     slashes->line, order);
}

/// Describes numbers that are read as text because some have a decimal point and others a decimal comma.
std::string ColumnProfile::hint_of_decimals(const ColumnSchema& column) const {
  if (!fits_nearly(all_numbers(), column.entries())) return {};
  const auto place = [&](std::initializer_list<NumberShape> shapes) {
    const OddCell* first = nullptr;
    for (const NumberShape shape : shapes) {
      const Kind* kind = kinds_[at(kNumbers + static_cast<int>(shape))].get();
      if (kind != nullptr && (first == nullptr || kind->cells[0].line < first->line)) first = &kind->cells[0];
    }
    return first == nullptr ? std::string()
                            : fmt::format("\"{}\" in line {}", escape_cell(first->text, kMostOddBytes), first->line);
  };
  const std::string point = place({NumberShape::point, NumberShape::commas_point, NumberShape::spaces_point});
  const std::string comma = place({NumberShape::comma, NumberShape::points_comma, NumberShape::spaces_comma});
  if (point.empty() || comma.empty()) return {};
  return fmt::format(
      "some numbers have a decimal point ({}) and others a decimal comma ({}), so they are read as {}; "
      "write all with the same mark to read them as numbers",
      point, comma, type_name(column.type));
}

std::string ColumnProfile::hint_of_text(const ColumnSchema& column) const {
  if (std::string hint = hint_of_dates(column); !hint.empty()) return hint;
  if (std::string hint = hint_of_decimals(column); !hint.empty()) return hint;
  const Kind* texts = kinds_[at(kText)].get();
  if (texts == nullptr || is_identifier_name(name_)) return {};
  const Index numbers = all_numbers(), dates = all_dates(), fitting = std::max(numbers, dates);
  const OddCell& other = texts->cells[0];
  const std::string cell = escape_cell(other.text, kMostOddBytes);
  if (share_of(fitting, column.entries()) >= kMostlyDistinct) {
    const std::string missing = missing_option({}, {other.text});
    return fmt::format("{} of {} values are {}, but \"{}\" in line {} is not, so all are read as {}{}{}", fitting,
                       column.entries(), numbers >= dates ? "numbers" : "dates", cell, other.line,
                       type_name(column.type), missing.empty() ? "" : "; if such cells are missing values, use ",
                       missing);
  }
  const bool digits = std::ranges::any_of(other.text, [](char c) { return c >= '0' && c <= '9'; });
  if (date_name_ && digits && column.type != ColumnType::category)
    return fmt::format(
        "it is named like a date, but \"{}\" in line {} is not in a known format; write dates as 2024-01-31, with a "
        "time as 2024-01-31 12:00",
        cell, other.line);
  return {};
}

/// Returns whether a number differs from all others by several times their range. Among numbers that are not negative,
/// a negative one needs to differ only by their range, and a positive one must also be several times as large.
bool ColumnProfile::is_far_from_others(double value) const {
  constexpr double kFarFromOthers = 4, kLargerThanOthers = 5;
  const double range = ordinary_most_ - ordinary_least_;
  const double distance = value < 0 ? ordinary_least_ - value : value - ordinary_most_;
  const double factor = value < 0 && ordinary_least_ >= 0 ? 1 : kFarFromOthers;
  const bool large = value < 0 || value > kLargerThanOthers * std::max(-ordinary_least_, ordinary_most_);
  return range > 0 && large && distance > factor * range;
}

/// Names cells that dominate the standard deviation of the column.
std::string ColumnProfile::hint_of_far_cells() const {
  const std::optional<FarCells> far = extremes_.far(all_numbers());
  if (!far) return {};
  const std::string text = escape_cell(far->text, kMostOddBytes), option = missing_option({}, {far->text});
  if (far->cells == 1)
    return fmt::format(
        "{} in line {} is far from all other values and dominates their scale; if it is an error, correct or empty the "
        "cell{}",
        text, far->line, option.empty() ? "" : ", or use " + option);
  if (far->different == 1)
    return fmt::format("{} occurs {} times and is far from all other values; if it marks missing values, {}", text,
                       far->cells, option.empty() ? "empty these cells" : "use " + option);
  return fmt::format(
      "{} in line {} and {} other cell{} are far from all other values and dominate their scale; if they are errors, "
      "correct or empty the cells",
      text, far->line, far->cells - 1, far->cells == 2 ? "" : "s");
}

std::string ColumnProfile::hint_of_number(const ColumnSchema& column) const {
  constexpr double kFirstUnixTime = 1e8, kFirstSerialDay = 20000, kLastSerialDay = 80000;
  constexpr Index kRepeatsOfSentinel = 2;
  if (!column.least) return {};
  if (date_name_ && *column.least > kFirstUnixTime)
    return "it is named like a date, but its numbers are not whole seconds or milliseconds since 1970; convert them to "
           "read them as times";
  const bool serial = column.type == ColumnType::integer && *column.least >= kFirstSerialDay &&
                      *column.most <= kLastSerialDay && lower_name(name_).find("date") != std::string::npos;
  if (serial)
    return "it is named like a date, but contains integers, perhaps day numbers of a spreadsheet; format the cells as "
           "dates to read them as dates";
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    const bool negative = i >= kSentinels.size();
    const double magnitude = kSentinels[i % kSentinels.size()];
    if (sentinels_[i] < kRepeatsOfSentinel || !is_far_from_others(negative ? -magnitude : magnitude)) continue;
    const std::string value = fmt::format("{}{:.0f}", negative ? "-" : "", magnitude);
    return fmt::format(
        "{} occurs {} times and is far from all other values; if it marks missing values, use --missing "
        "\"{}\"",
        value, sentinels_[i], value);
  }
  return hint_of_far_cells();
}

/// Returns whether numbers have different currencies or percent signs, so that they are numbers, but not comparable.
bool ColumnProfile::mixes_currencies() const {
  return !units_.empty() && std::ranges::none_of(units_, [](const UnitCount& unit) {
    const bool code =
        unit.unit.size() == 3 && std::ranges::all_of(unit.unit, [](char c) { return c >= 'A' && c <= 'Z'; });
    const char first = unit.unit[0];
    return !code && ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'));
  });
}

/// Returns whether numbers are integers that are written with one zero after the decimal point.
bool ColumnProfile::are_whole_decimals() const {
  const Kind* points = kinds_[at(kNumbers + static_cast<int>(NumberShape::point))].get();
  return points != nullptr && points->whole && points->count + numbers(NumberShape::integer) == all_numbers();
}

}  // namespace unfold
