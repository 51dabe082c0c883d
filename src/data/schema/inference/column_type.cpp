/// The decision on the type of a column from its statistics.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
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

constexpr Index kMostIntegerClasses = 20;  ///< maximum number of distinct integers that are classes
constexpr Index kEntriesPerClass = 2;      ///< minimum number of entries per class, on average
constexpr Index kRowsOfCounter = 5;        ///< minimum number of rows for a column to be a row counter
constexpr Index kRowsOfUnsortedCounter = 10;
constexpr Index kEntriesOfCodes = 5;
constexpr double kNearUnique = 0.9;      ///< fraction of distinct values among entries of identifiers
constexpr Index kEntriesOfText = 20;     ///< shorter columns are text only if most cells contain blanks
constexpr double kWordsOfSentences = 3;  ///< minimum number of words per entry, on average
constexpr Index kRepeatsOfCategory = 5;  ///< sentences that occur this often are categories

bool is_integer_shape(NumberShape shape) {
  return shape == NumberShape::integer || shape == NumberShape::leading_zero || shape == NumberShape::big_integer ||
         shape == NumberShape::points || shape == NumberShape::commas || shape == NumberShape::spaces;
}

const char* decimal_phrase(const NumberConvention& convention) {
  switch (convention.thousands) {
    case ThousandsMark::comma: return ", commas between thousands";
    case ThousandsMark::point: return ", points between thousands";
    case ThousandsMark::space: return ", blanks or apostrophes between thousands";
    default: return "";
  }
}

std::string unit_phrase(const ColumnSchema& column) {
  return column.number_unit.empty() ? std::string() : fmt::format(", each with the unit {}", column.number_unit);
}

}  // namespace

std::string_view ColumnProfile::main_unit() const {
  Index rest = all_numbers();
  for (const UnitCount& unit : units_) rest -= unit.count;
  std::string_view main;
  for (const UnitCount& unit : units_) {
    if (unit.count <= rest) continue;
    rest = unit.count;
    main = unit.unit;
  }
  return main;
}

Index ColumnProfile::with_other_units(std::string_view unit) const {
  Index with_unit = 0, own = 0;
  for (const UnitCount& other : units_) {
    with_unit += other.count;
    if (other.unit == unit) own = other.count;
  }
  return unit.empty() ? with_unit : all_numbers() - own;
}

/// Adds numbers whose unit differs from the most common unit, and numbers without a unit, to the odd cells.
void ColumnProfile::collect_other_units(ColumnSchema& column) const {
  if (units_.empty()) return;
  column.odd += with_other_units(column.number_unit);
  const auto add = [&](const std::vector<OddCell>& cells) {
    column.odd_cells.insert(column.odd_cells.end(), cells.begin(), cells.end());
  };
  if (!column.number_unit.empty()) add(unit_free_);
  for (const UnitCount& other : units_)
    if (other.unit != column.number_unit) add(other.cells);
}

Index ColumnProfile::comma_evidence() const {
  if (!fits_nearly(all_numbers(), all_numbers() + all_dates() + of(kText))) return 0;
  return numbers(NumberShape::comma) + numbers(NumberShape::points_comma) + numbers(NumberShape::spaces_comma);
}

Index ColumnProfile::point_evidence() const {
  if (has_months_with_point() || !fits_nearly(all_numbers(), all_numbers() + all_dates() + of(kText))) return 0;
  return numbers(NumberShape::point) + numbers(NumberShape::commas_point) + numbers(NumberShape::spaces_point);
}

std::optional<PointGroups> ColumnProfile::point_groups() const {
  constexpr double kLeastGrouped = 1000;
  PointGroups groups{.three = numbers(NumberShape::point_three),
                     .longer = numbers(NumberShape::points),
                     .integers = numbers(NumberShape::integer)};
  const Index count = groups.three + groups.longer + groups.integers;
  if (groups.three + groups.longer == 0 || count != all_numbers()) return {};
  if (!fits_nearly(count, count + all_dates() + of(kText))) return {};
  if (const Kind* integers = kinds_[at(kNumbers + static_cast<int>(NumberShape::integer))].get())
    groups.largest_integer = std::max(std::abs(integers->least), std::abs(integers->most));
  if (groups.largest_integer >= kLeastGrouped) return {};
  if (groups.three > 0)
    groups.example = kinds_[at(kNumbers + static_cast<int>(NumberShape::point_three))]->cells[0].text;
  return groups;
}

bool ColumnProfile::has_dotted_dates() const {
  using Shape = DateScan::Shape;
  const Index count = dates(Shape::day_or_month_first) + dates(Shape::day_first) + dates(Shape::month_first);
  return dates_ != nullptr && dates_->separator == '.' && fits_nearly(count, all_numbers() + all_dates() + of(kText));
}

Index ColumnProfile::admitted(const NumberConvention& convention) const {
  Index sum = 0;
  for (int s = 1; s < kNumberShapes; ++s) {
    if (admits(convention, static_cast<NumberShape>(s))) sum += of(kNumbers + s);
  }
  return sum;
}

/// Returns the convention under which the largest number of cells are numeric. Ties are resolved in favor of the
/// decimal mark of the table, then in favor of no thousands separators; an integer of four digits without a separator
/// is evidence against them.
NumberConvention ColumnProfile::best_convention(const Context& context) const {
  const DecimalMark table = context.decimal.value_or(context.table_decimal);
  const DecimalMark other = table == DecimalMark::point ? DecimalMark::comma : DecimalMark::point;
  const Kind* integers = kinds_[at(kNumbers + static_cast<int>(NumberShape::integer))].get();
  const bool plain_thousands =
      integers != nullptr && std::max(std::abs(integers->least), std::abs(integers->most)) >= 1000;
  std::optional<NumberConvention> best;
  Index most = -1;
  for (const DecimalMark decimal : {table, other}) {
    if (context.decimal && *context.decimal != decimal) continue;
    for (const ThousandsMark thousands :
         {ThousandsMark::none, ThousandsMark::comma, ThousandsMark::point, ThousandsMark::space}) {
      if (context.thousands && *context.thousands != thousands) continue;
      const NumberConvention convention{decimal, thousands};
      const bool same = (decimal == DecimalMark::point && thousands == ThousandsMark::point) ||
                        (decimal == DecimalMark::comma && thousands == ThousandsMark::comma);
      if (same) continue;
      const bool guessed = plain_thousands && !context.thousands && thousands == ThousandsMark::point &&
                           numbers(NumberShape::points) + numbers(NumberShape::points_comma) == 0;
      const Index count = guessed ? 0 : admitted(convention);
      if (count > most) {
        most = count;
        best = convention;
      }
    }
  }
  return best.value_or(NumberConvention{table, ThousandsMark::none});
}

DateFormat ColumnProfile::slash_format() const {
  const Index day = dates(DateScan::Shape::day_first), month = dates(DateScan::Shape::month_first);
  if (day != month) return day > month ? DateFormat::day_month_year : DateFormat::month_day_year;
  if (dates_ == nullptr || dates_->separator != '/') return DateFormat::day_month_year;
  const DateStep by_day = dates_->day_first.step(), by_month = dates_->month_first.step();
  if (by_day.regular != by_month.regular) {
    return by_day.regular ? DateFormat::day_month_year : DateFormat::month_day_year;
  }
  if (by_day.regular && by_day.exceptions != by_month.exceptions) {
    return by_day.exceptions < by_month.exceptions ? DateFormat::day_month_year : DateFormat::month_day_year;
  }
  return by_day.descents < by_month.descents ? DateFormat::day_month_year : DateFormat::month_day_year;
}

bool ColumnProfile::is_order_shown() const {
  return (dates(DateScan::Shape::day_first) > 0) != (dates(DateScan::Shape::month_first) > 0);
}

/// Returns whether all numbers with a point are months, such as 01.2016: if the name or the type indicates dates, or
/// else if there are no other entries and some have a leading zero, which a number does not have.
bool ColumnProfile::has_months_with_point() const {
  if (!dates_ || dates_->months_with_point == 0 || dates_->months_with_point != numbers(NumberShape::point))
    return false;
  const bool only = dates_->months_with_point == all_numbers() + all_dates() + of(kText);
  return short_dates_ || (only && dates_->leading_zero);
}

Index ColumnProfile::date_cells(DateFormat format) const {
  if (format >= DateFormat::year) return dates_ ? dates_->integers[static_cast<std::size_t>(format)] : 0;
  const std::vector<bool> fitting = date_kinds(format);
  Index sum = 0;
  for (int kind = kNumbers; kind < kText; ++kind) sum += fitting[at(kind)] ? of(kind) : 0;
  return also_reads_year_first(format) ? sum - dates(DateScan::Shape::year_first) : sum;
}

std::vector<bool> ColumnProfile::date_kinds(DateFormat format) const {
  std::vector<bool> fitting(kKinds);
  const auto fit = [&](DateScan::Shape shape) { fitting[at(kDates + static_cast<int>(shape))] = true; };
  switch (format) {
    case DateFormat::year_month_day: fit(DateScan::Shape::year_first); break;
    case DateFormat::day_month_year:
      fit(DateScan::Shape::day_or_month_first);
      fit(DateScan::Shape::day_first);
      fit(DateScan::Shape::year_first);
      break;
    case DateFormat::month_day_year:
      fit(DateScan::Shape::day_or_month_first);
      fit(DateScan::Shape::month_first);
      fit(DateScan::Shape::year_first);
      break;
    case DateFormat::month_name: fit(DateScan::Shape::month_name); break;
    case DateFormat::year_month:
      fit(DateScan::Shape::year_month);
      fitting[at(kNumbers + static_cast<int>(NumberShape::point))] = has_months_with_point();
      break;
    case DateFormat::quarter: fit(DateScan::Shape::quarter); break;
    case DateFormat::week: fit(DateScan::Shape::week); break;
    case DateFormat::time_of_day: fit(DateScan::Shape::time_of_day); break;
    default: fitting[at(kNumbers + static_cast<int>(NumberShape::integer))] = true;
  }
  return fitting;
}

std::optional<DateFormat> ColumnProfile::best_date_format(Index entries, Index& fitting) const {
  std::optional<DateFormat> best;
  fitting = 0;
  for (int f = 0; f < kDateFormats; ++f) {
    const auto format = static_cast<DateFormat>(f);
    const bool slashes = format == DateFormat::day_month_year || format == DateFormat::month_day_year;
    if (slashes && format != slash_format()) continue;
    Index count = date_cells(format);
    const bool mixes = slashes && count > 0 && (is_order_shown() || fits_nearly(count, entries));
    if (mixes) count += dates(DateScan::Shape::year_first);
    if (count > fitting) {
      fitting = count;
      best = format;
    }
  }
  return fits_nearly(fitting, entries) ? best : std::nullopt;
}

ColumnSchema ColumnProfile::common() const {
  ColumnSchema column;
  column.name = name_;
  column.rows = rows_;
  column.examples = examples_;
  column.distinct = distinct_.count();
  column.distinct_exact = distinct_.exact();
  column.words = of(kText) == 0 ? 0 : static_cast<double>(words_) / static_cast<double>(of(kText));
  return column;
}

namespace {

/// Returns whether a number of this shape fits a column; integers beyond 2^53 cannot be represented exactly.
bool fits_numbers(NumberShape shape, const NumberConvention& convention, bool integers) {
  return admits(convention, shape) && (shape != NumberShape::big_integer || !integers) &&
         (!integers || is_integer_shape(shape) || reads_as_grouped(convention, shape));
}

}  // namespace

bool is_odd_cell(const ColumnSchema& column, std::string_view cell, const MissingCells& missing) {
  const bool numbers = column.type == ColumnType::number || column.type == ColumnType::integer;
  if (!numbers && column.type != ColumnType::date) return false;
  if (is_missing_cell(cell, missing, /*marks=*/true)) return false;
  if (!numbers) return !parse_date(cell, column.date_format.value_or(DateFormat::year_month_day));
  NumberScan scan = scan_number(is_year_name(column.name) ? without_zero_decimals(cell) : cell);
  const UnitCell split = scan.shape == NumberShape::none ? split_unit(cell) : UnitCell{};
  if (split.unit != column.number_unit) return true;
  if (!split.number.empty()) scan = scan_number(split.number);
  if (scan.shape == NumberShape::leading_zero && !column.stated) return true;
  return !fits_numbers(scan.shape, column.convention, column.type == ColumnType::integer);
}

void ColumnProfile::collect_odd(ColumnSchema& column, const std::vector<bool>& fitting) const {
  for (int kind = kNumbers; kind < kKinds; ++kind) {
    if (fitting[at(kind)] || !kinds_[at(kind)]) continue;
    column.odd += kinds_[at(kind)]->count;
    column.odd_cells.insert(column.odd_cells.end(), kinds_[at(kind)]->cells.begin(), kinds_[at(kind)]->cells.end());
  }
  std::stable_sort(column.odd_cells.begin(), column.odd_cells.end(),
                   [](const OddCell& a, const OddCell& b) { return a.line < b.line; });
  if (column.odd_cells.size() > kMostOddCells) column.odd_cells.resize(kMostOddCells);
}

std::vector<bool> ColumnProfile::numeric_kinds(const NumberConvention& convention, bool integers) const {
  std::vector<bool> fitting(kKinds);
  for (int s = 1; s < kNumberShapes; ++s) {
    fitting[at(kNumbers + s)] = fits_numbers(static_cast<NumberShape>(s), convention, integers);
  }
  return fitting;
}

/// Sets missing, range, resolution and odd cells of a numeric column.
void ColumnProfile::finish_numbers(ColumnSchema& column, const NumberConvention& convention) const {
  column.convention = convention;
  column.missing = of(kEmpty) + of(kWord) + of(kMark);
  if (column.distinct_exact) column.distinct -= std::popcount(marks_);
  std::vector<bool> fitting = numeric_kinds(convention, column.type == ColumnType::integer);
  if (!column.stated) fitting[at(kNumbers + static_cast<int>(NumberShape::leading_zero))] = false;
  if (column.number_unit.empty()) column.number_unit = main_unit();
  collect_other_units(column);
  collect_odd(column, fitting);
  for (int s = 1; s < kNumberShapes; ++s) {
    const Kind* kind = kinds_[at(kNumbers + s)].get();
    if (kind == nullptr || !fitting[at(kNumbers + s)]) continue;
    const bool grouped = reads_as_grouped(convention, static_cast<NumberShape>(s));
    const double least = grouped ? kind->grouped_least : kind->least, most = grouped ? kind->grouped_most : kind->most;
    column.least = std::min(column.least.value_or(least), least);
    column.most = std::max(column.most.value_or(most), most);
    if (!grouped) column.decimals = std::max(column.decimals, kind->decimals);
  }
}

void ColumnProfile::finish_dates(ColumnSchema& column, DateFormat format) const {
  column.type = ColumnType::date;
  column.date_format = format;
  column.missing = of(kEmpty) + of(kWord) + of(kMark);
  if (column.distinct_exact) column.distinct -= std::popcount(marks_);
  collect_odd(column, date_kinds(format));
  if (!dates_) return;
  if (format >= DateFormat::year) {
    column.step =
        dates_->integer_steps[static_cast<std::size_t>(format) - static_cast<std::size_t>(DateFormat::year)].step();
    column.has_time = format == DateFormat::unix_seconds || format == DateFormat::unix_milliseconds;
    const Index outside = of(kNumbers + static_cast<int>(NumberShape::integer)) - date_cells(format);
    column.odd += outside;
    return;
  }
  column.has_time = dates_->with_time > 0;
  column.step = (format == DateFormat::month_day_year ? dates_->month_first : dates_->day_first).step();
}

void ColumnProfile::finish_texts(ColumnSchema& column) const { column.missing = of(kEmpty) + of(kWord); }

bool ColumnProfile::integral(const NumberConvention& convention) const {
  for (int s = 1; s < kNumberShapes; ++s) {
    const auto shape = static_cast<NumberShape>(s);
    if (of(kNumbers + s) > 0 && admits(convention, shape) && !is_integer_shape(shape) &&
        !reads_as_grouped(convention, shape)) {
      return false;
    }
  }
  return true;
}

/// Returns whether the integers are a permutation of 0, ..., n - 1 or 1, ..., n, by comparing their number, sum and sum
/// of squares.
bool ColumnProfile::counts_rows(const ColumnSchema& column) const {
  const Index n = numbers(NumberShape::integer);
  if (n < (consecutive_ ? kRowsOfCounter : kRowsOfUnsortedCounter) || n != column.entries() || column.missing > 0 ||
      !column.least)
    return false;
  if (*column.least != 0 && *column.least != 1) return false;
  if (*column.most - *column.least + 1 != static_cast<double>(n)) return false;
  if (column.distinct_exact && column.distinct != n) return false;
  std::uint64_t sum = 0, squares = 0;
  const auto last = static_cast<std::uint64_t>(*column.most);
  // Sums over 1, ..., last modulo 2^64; one of the factors is divided before the product wraps.
  const std::uint64_t a = last % 2 == 0 ? last / 2 : last, b = last % 2 == 0 ? last + 1 : (last + 1) / 2;
  sum = a * b;
  const std::uint64_t c = 2 * last + 1;
  squares = a % 3 == 0 ? a / 3 * b * c : b % 3 == 0 ? a * (b / 3) * c : a * b * (c / 3);
  return sum == integer_sum_ && squares == integer_squares_;
}

/// Returns whether a column of integers contains codes that must be kept as text. It does if some integers have leading
/// zeros or exceed 2^53, and either there are many of these or all integers have the same length.
bool ColumnProfile::codes(Index entries, std::string& reason) const {
  const Index zeros = numbers(NumberShape::leading_zero), big = numbers(NumberShape::big_integer);
  const Index integers = numbers(NumberShape::integer) + zeros + big;
  if (zeros + big == 0 || !fits_nearly(integers, entries)) return false;
  int narrowest = 0, widest = 0;
  for (const NumberShape shape : {NumberShape::integer, NumberShape::leading_zero, NumberShape::big_integer}) {
    const Kind* kind = kinds_[at(kNumbers + static_cast<int>(shape))].get();
    if (kind == nullptr) continue;
    narrowest = narrowest == 0 ? kind->narrowest : std::min(narrowest, kind->narrowest);
    widest = std::max(widest, kind->widest);
  }
  const bool one_length = narrowest == widest;
  if (!one_length && share_of(zeros + big, entries) <= 1 - kFittingShare) return false;
  reason = zeros > 0 ? fmt::format("{} integers with leading zeros, kept as text", zeros)
                     : fmt::format("{} integers beyond 2^53, kept as text", big);
  return true;
}

ColumnSchema ColumnProfile::finish(const Context& context) const {
  ColumnSchema column = common();
  if (context.stated != nullptr)
    decide_stated(column, context);
  else
    decide(column, context);
  const bool numbers = column.type == ColumnType::number || column.type == ColumnType::integer;
  column.sorted = serial_.sorted(numbers);
  return column;
}

void ColumnProfile::decide_stated(ColumnSchema& column, const Context& context) const {
  const StatedType& stated = *context.stated;
  column.type = stated.type;
  column.stated = true;
  column.type_reason = "set by --types";
  switch (stated.type) {
    case ColumnType::number:
    case ColumnType::integer:
      column.number_unit = units_.empty() ? std::string() : stated.number_unit;
      finish_numbers(column, stated.convention.value_or(best_convention(context)));
      break;
    case ColumnType::date: {
      Index fitting = 0;
      const Index entries = all_numbers() + all_dates() + of(kText);
      std::optional<DateFormat> format = stated.date_format;
      if (!format) format = best_date_format(entries, fitting);
      finish_dates(column, format.value_or(DateFormat::year_month_day));
      break;
    }
    default:
      finish_texts(column);
      column.class_labels = stated.type == ColumnType::category && all_numbers() == column.entries() &&
                            integral(best_convention(context)) && column.entries() > 0;
      column.unit = stated.unit.value_or(texts_with_blanks_ > 0 ? TextUnit::words : TextUnit::characters);
  }
}

void ColumnProfile::decide(ColumnSchema& column, const Context& context) const {
  const Index entries = all_numbers() + all_dates() + of(kText);
  if (entries == 0) {
    finish_texts(column);
    column.type = ColumnType::empty;
    column.type_reason = "no cell has a value";
    column.missing = column.rows;
    return;
  }
  if (column.distinct == 1 && column.rows >= 2 && of(kEmpty) + of(kWord) == 0 && !context.predicted) {
    finish_texts(column);
    column.type = ColumnType::constant;
    column.type_reason = "all cells are equal";
    return;
  }
  if (!decide_date(column) && !decide_number(column, context)) decide_text(column, context);
}

bool ColumnProfile::decide_date(ColumnSchema& column) const {
  if (!dates_) return false;
  Index fitting = 0;
  const std::optional<DateFormat> format = best_date_format(all_numbers() + all_dates() + of(kText), fitting);
  if (!format) return false;
  finish_dates(column, *format);
  const bool by_name = *format >= DateFormat::year;
  const bool mixed = also_reads_year_first(*format) && dates(DateScan::Shape::year_first) > 0;
  column.type_reason = fmt::format("dates as {}{}{}", date_pattern(*format), by_name ? ", as its name suggests" : "",
                                   mixed ? " and YYYY-MM-DD" : "");
  if (*format == DateFormat::year_month && has_months_with_point())
    column.type_reason = "months as MM.YYYY; if they are numbers, specify --types " + shell_argument(name_) + "=number";
  const bool slashes = *format == DateFormat::day_month_year || *format == DateFormat::month_day_year;
  if (slashes && dates(DateScan::Shape::day_first) + dates(DateScan::Shape::month_first) == 0) {
    column.exchangeable = true;
    column.type_reason +=
        "; day and month may be swapped; if so, specify --types " + shell_argument(name_) + "=date:" +
        date_pattern(*format == DateFormat::day_month_year ? DateFormat::month_day_year : DateFormat::day_month_year);
  }
  return true;
}

bool ColumnProfile::decide_number(ColumnSchema& column, const Context& context) const {
  const Index entries = all_numbers() + all_dates() + of(kText);
  std::string reason;
  if (!context.predicted && codes(entries, reason)) {
    finish_texts(column);
    const bool unique = share_of(column.distinct, column.entries()) >= kNearUnique;
    column.type = unique || is_identifier_name(name_) ? ColumnType::identifier : ColumnType::category;
    column.type_reason = reason;
    return true;
  }
  const NumberConvention convention = best_convention(context);
  const bool whole = integral(convention);
  const Index fitting = admitted(convention) - (whole ? numbers(NumberShape::big_integer) : 0) -
                        (mixes_currencies() ? 0 : with_other_units(main_unit()));
  // Infinite numbers count as odd cells, so that they are rejected.
  if (fitting == 0 || !fits_nearly(fitting + numbers(NumberShape::infinite), entries)) return false;
  column.type = whole ? ColumnType::integer : ColumnType::number;
  finish_numbers(column, convention);
  if (column.type == ColumnType::integer) {
    decide_integer(column, context);
    return true;
  }
  const bool few = column.distinct <= kMostIntegerClasses && column.entries() >= kEntriesPerClass * column.distinct;
  if (few && column.odd == 0 && is_class_name(name_) && are_whole_decimals()) {
    column.type = ColumnType::category;
    column.class_labels = true;
    column.type_reason =
        fmt::format("{} distinct integers written with .0; the name of the column suggests classes", column.distinct);
    return true;
  }
  column.type_reason =
      fmt::format("numbers with a decimal {}{}{}", convention.decimal == DecimalMark::comma ? "comma" : "point",
                  decimal_phrase(convention), unit_phrase(column));
  return true;
}

void ColumnProfile::decide_integer(ColumnSchema& column, const Context& context) const {
  const NumberConvention convention = column.convention;
  column.type_reason = fmt::format("integers{}{}", decimal_phrase(convention), unit_phrase(column));
  const bool few = column.distinct <= kMostIntegerClasses && column.entries() >= kEntriesPerClass * column.distinct;
  if (few && column.odd == 0 && is_class_name(name_)) {
    column.type = ColumnType::category;
    column.class_labels = true;
    column.type_reason = fmt::format("{} different integers, classes, as its name suggests", column.distinct);
    return;
  }
  if (context.predicted || context.only_column || column.odd > 0) return;
  if (is_identifier_name(name_)) {
    column.type = ColumnType::identifier;
    column.type_reason = "integers that are identifiers, as its name suggests";
  } else if (counts_rows(column)) {
    column.type = ColumnType::identifier;
    column.type_reason = "counts the rows";
  }
}

void ColumnProfile::decide_text(ColumnSchema& column, const Context& context) const {
  finish_texts(column);
  const Index texts = of(kText), entries = column.entries();
  const double distinct = share_of(column.distinct, entries), words = texts == 0 ? 0 : share_of(words_, texts);
  const Index fitting = std::max(all_numbers(), all_dates());
  const bool dates_differ = fits_nearly(all_dates(), entries);
  const std::string mixed = share_of(fitting, entries) >= kMostlyDistinct
                                ? fmt::format("; {} of {} values are {}, {}", fitting, entries,
                                              all_numbers() >= all_dates() ? "numbers" : "dates",
                                              dates_differ ? "in different formats" : "too few for that type")
                                : "";
  const auto decide_as = [&](ColumnType type, std::string reason) {
    column.type = type;
    column.type_reason = std::move(reason) + mixed;
  };
  column.unit = share_of(texts_with_blanks_, texts) >= kMostlyDistinct ? TextUnit::words : TextUnit::characters;
  if (!context.predicted && !context.only_column) {
    if (fits_nearly(uuids_, texts) && texts == entries) return decide_as(ColumnType::identifier, "UUIDs");
    const bool one_word = texts_with_blanks_ == 0;
    if (is_identifier_name(name_) && one_word) {
      return decide_as(ColumnType::identifier, "codes that are identifiers, as its name suggests");
    }
    if (one_word && distinct >= kNearUnique && entries >= kEntriesOfCodes && fits_nearly(code_texts_, texts)) {
      return decide_as(ColumnType::identifier, "codes that differ in almost every row");
    }
  }
  const std::string repeats = fmt::format("{} different values in {} entries", column.distinct, entries);
  const bool unique_sentences = column.distinct == entries && share_of(texts_with_blanks_, texts) > kMostlyDistinct;
  if (entries >= kEntriesOfText && distinct > kMostlyDistinct) return decide_as(ColumnType::text, repeats);
  if (entries < kEntriesOfText && unique_sentences)
    return decide_as(ColumnType::text, repeats + ", with several words");
  if (words >= kWordsOfSentences && entries < kRepeatsOfCategory * column.distinct) {
    return decide_as(ColumnType::text, fmt::format("{:.0f} words per entry on average", words));
  }
  decide_as(ColumnType::category, repeats);
}

}  // namespace unfold
