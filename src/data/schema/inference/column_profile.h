#pragma once
/// Statistics of the cells of one column, collected in one pass with bounded memory, and the decision on its type.
///
/// Every cell is counted under its *kind*: missing, one of the shapes of numbers and dates, or text. The decision is
/// made at the end from these counts. It therefore does not depend on the order of the rows, and the type, the decimal
/// mark and the date format are determined without a second pass.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/cells/date_cell.h"
#include "data/cells/date_step.h"
#include "data/cells/numeric_cell.h"
#include "data/counts/distinct_count.h"
#include "data/schema/inference/extreme_cells.h"
#include "data/schema/inference/recent_texts.h"
#include "data/schema/inference/serial_dependence.h"
#include "data/schema/table_schema.h"

namespace unfold {

/// Returns whether a cell does not fit its column of numbers or dates; false for other types and for missing cells.
bool is_odd_cell(const ColumnSchema& column, std::string_view cell, const MissingCells& missing);

/// Returns the longest prefix of whole characters with at most `most` bytes; the rest of a text need not be kept.
std::string_view beginning_of(std::string_view text, std::size_t most);

/// The numbers of a column whose points may separate thousands.
struct PointGroups {
  Index three = 0;             ///< cells such as 1.234
  Index longer = 0;            ///< cells such as 1.234.567
  Index integers = 0;          ///< integers without a separator
  double largest_integer = 0;  ///< the largest magnitude of these
  std::string example = {};    ///< a cell such as 1.234
};

class ColumnProfile {
 public:
  /// `missing` must outlive the profile.
  ColumnProfile(std::string name, Index distinct_bound, const MissingCells& missing);

  /// Reads cells such as 4.9.23 as dates even if the name does not indicate dates.
  void expect_dates() { short_dates_ = true; }
  void add(std::string_view cell, Index line) { add(cell, line, hash_of_cell(cell)); }
  /// `hash`: that of the cell.
  void add(std::string_view cell, Index line, std::uint64_t hash);
  /// Begins to load what `add` needs for a cell with this hash.
  void prefetch(std::uint64_t hash) const { distinct_.prefetch(hash); }

  const std::string& name() const { return name_; }
  /// Returns the hash of the last entry; 0 after a missing cell.
  std::uint64_t last_hash() const { return last_hash_; }
  /// Returns the shape and the value of the last entry; NumberShape::none if it is not a number without a unit.
  NumberShape last_shape() const { return last_shape_; }
  double last_number() const { return last_number_; }
  /// Returns whether the last entry is certainly the shortest text of its number.
  bool last_is_shortest() const { return last_shortest_; }
  /// Returns the number of cells that can be read only with a decimal comma, and of cells that can be read only with a
  /// decimal point, if the column consists of numbers.
  Index comma_evidence() const;
  Index point_evidence() const;
  /// Number of cells of the form 1,234, which are ambiguous.
  Index ambiguous_commas() const { return numbers(NumberShape::comma_three); }

  /// Returns nothing if the points of the column cannot separate thousands: it has other numbers than integers below
  /// 1000 and groups of three digits.
  std::optional<PointGroups> point_groups() const;
  /// Returns whether the column consists of dates with points: 31.12.2024.
  bool has_dotted_dates() const;

  /// Properties of the column that follow from the table and the options.
  struct Context {
    DecimalMark table_decimal = DecimalMark::point;
    std::optional<DecimalMark> decimal = {};
    std::optional<ThousandsMark> thousands = {};
    const StatedType* stated = nullptr;
    bool only_column = false;
    bool predicted = false;  ///< set by an option; then the column is neither an identifier nor a constant
  };
  ColumnSchema finish(const Context& context) const;
  /// Returns a clause about contents that suggest a type that differs from the inferred one; empty if there are none.
  std::string hint_of(const ColumnSchema& column) const;
  const SerialDependence& serial() const { return serial_; }
  /// Returns whether a cell had the stated spelling of a missing value with this index.
  bool has_stated_missing(std::size_t spelling) const { return !stated_missing_.empty() && stated_missing_[spelling]; }

 private:
  static constexpr std::array<double, 6> kSentinels = {9, 99, 999, 9999, 99999, 999999};
  static constexpr double kLeastPositiveSentinel = 999;  ///< 9 and 99 are usual numbers; -9 and -99 are codes
  static constexpr int kEmpty = 0, kWord = 1, kMark = 2, kNumbers = 3, kDates = kNumbers + kNumberShapes,
                       kDateShapes = 10, kText = kDates + kDateShapes, kKinds = kText + 1;

  struct Kind {
    Index count = 0;
    std::vector<OddCell> cells;                  ///< the first cells of this shape
    double least = 0, most = 0;                  ///< smallest and largest number
    double grouped_least = 0, grouped_most = 0;  ///< like the digits, not kept for NumberShape::point
    int decimals = 0;
    int narrowest = 0, widest = 0;  ///< digits
    bool whole = true;              ///< NumberShape::point: all end in ".0"
  };
  struct Dates {
    StepTracker day_first, month_first;
    std::array<Index, kDateFormats> integers = {};  ///< number of integers by date format, in columns named like dates
    /// year, compact, unix_seconds, unix_milliseconds, compact_month
    std::array<StepTracker, 5> integer_steps;
    Index with_time = 0;
    char separator = 0;
    Index months_with_point = 0;  ///< number of cells such as 01.2016, which are also counted as numbers
    bool leading_zero = false;    ///< one of them is earlier than October
  };

  /// Numbers with the same unit.
  struct UnitCount {
    std::string unit;
    Index count = 0;
    std::vector<OddCell> cells;  ///< the first cells with this unit
  };

  void add_cell(std::string_view cell, Index line, std::uint64_t hash);
  Kind& count(int kind, std::string_view cell, Index line) {
    Kind* seen = kinds_[at(kind)].get();
    if (seen == nullptr || seen->count < static_cast<Index>(kMostOddCells)) return count_first(kind, cell, line);
    ++seen->count;
    return *seen;
  }
  Kind& count_first(int kind, std::string_view cell, Index line);
  bool add_number_with_unit(std::string_view cell, Index line);
  void add_number(const NumberScan& scan, std::string_view cell, Index line);
  void add_month_with_point(std::string_view cell);
  void add_sentinel(double value);
  void add_integer_date(double value);
  void add_date(const DateScan& scan, std::string_view cell, Index line);
  void add_text(std::string_view cell, Index line, const TextTraits& traits);
  void count_text(std::string_view cell, Index line, const TextTraits& traits);

  Index of(int kind) const { return kinds_[at(kind)] ? kinds_[at(kind)]->count : 0; }
  Index numbers(NumberShape shape) const { return of(kNumbers + static_cast<int>(shape)); }
  Index dates(DateScan::Shape shape) const { return of(kDates + static_cast<int>(shape)); }
  Index all_numbers() const;
  Index all_dates() const;
  Index admitted(const NumberConvention& convention) const;
  /// Returns the unit of most numbers; empty if most numbers have no unit.
  std::string_view main_unit() const;
  Index with_other_units(std::string_view unit) const;
  void collect_other_units(ColumnSchema& column) const;
  NumberConvention best_convention(const Context& context) const;
  DateFormat slash_format() const;
  /// Returns whether dates such as 31/12/2024 show that the day, or that the month, is first in all dates.
  bool is_order_shown() const;

  ColumnSchema common() const;
  void finish_numbers(ColumnSchema& column, const NumberConvention& convention) const;
  void finish_dates(ColumnSchema& column, DateFormat format) const;
  void finish_texts(ColumnSchema& column) const;
  void collect_odd(ColumnSchema& column, const std::vector<bool>& fitting) const;
  std::vector<bool> numeric_kinds(const NumberConvention& convention, bool integers) const;
  std::vector<bool> date_kinds(DateFormat format) const;
  std::optional<DateFormat> best_date_format(Index entries, Index& fitting) const;
  /// Returns the number of dates in a format; YYYY-MM-DD does not count for formats that also read it.
  Index date_cells(DateFormat format) const;
  const OddCell* first_cell(std::initializer_list<DateScan::Shape> shapes) const;  ///< null: there is none
  bool has_months_with_point() const;
  bool integral(const NumberConvention& convention) const;
  bool counts_rows(const ColumnSchema& column) const;
  bool codes(Index entries, std::string& reason) const;
  void decide_stated(ColumnSchema& column, const Context& context) const;
  void decide(ColumnSchema& column, const Context& context) const;
  bool decide_date(ColumnSchema& column) const;
  bool decide_number(ColumnSchema& column, const Context& context) const;
  void decide_integer(ColumnSchema& column, const Context& context) const;
  void decide_text(ColumnSchema& column, const Context& context) const;
  bool is_far_from_others(double value) const;
  std::string hint_of_far_cells() const;
  bool mixes_currencies() const;
  bool are_whole_decimals() const;
  std::string hint_of_dates(const ColumnSchema& column) const;
  std::string hint_of_mixed_dates(const ColumnSchema& column) const;
  std::string hint_of_decimals(const ColumnSchema& column) const;
  std::string hint_of_text(const ColumnSchema& column) const;
  std::string hint_of_number(const ColumnSchema& column) const;

  std::string name_;
  const MissingCells* missing_;
  bool date_name_, year_name_, short_dates_, week_name_;
  std::array<std::unique_ptr<Kind>, kKinds> kinds_;
  std::unique_ptr<Dates> dates_;
  DistinctCount distinct_;
  std::vector<std::string> examples_;
  std::vector<UnitCount> units_;      ///< at most kMostUnits units
  std::vector<OddCell> unit_free_;    ///< the first numbers without a unit
  std::vector<bool> stated_missing_;  ///< which of the stated spellings of missing values occurred; empty: none
  unsigned marks_ = 0;                ///< which marks for missing values occurred: - . ?
  Index rows_ = 0;
  std::uint64_t integer_sum_ = 0, integer_squares_ = 0;  ///< sums over integers, modulo 2^64
  double last_integer_ = 0;
  std::uint64_t last_hash_ = 0;
  NumberShape last_shape_ = NumberShape::none;
  bool last_shortest_ = false;
  double last_number_ = 0;  ///< the value of the last cell; NaN if it is not a number
  RecentTexts recent_;
  /// Numbers that often mark missing values, and the range of the others.
  std::array<Index, 2 * kSentinels.size()> sentinels_ = {};  ///< counts by magnitude, those of negative numbers last
  double ordinary_least_ = std::numeric_limits<double>::infinity(), ordinary_most_ = -ordinary_least_;
  ExtremeCells extremes_;
  SerialDependence serial_;
  bool consecutive_ = true;  ///< every integer exceeds the previous one by 1
  Index texts_with_blanks_ = 0, words_ = 0, code_texts_ = 0, uuids_ = 0, text_bytes_ = 0;
};

}  // namespace unfold
