#pragma once
/// Numbers in the notations that are common in tables: signs, decimal point or comma, thousands separators, exponents.
/// A number in parentheses is negative, as in accounts, and so is one with a mark and a minus behind it: 1.307,57-.
///
/// `scan_number` classifies a cell by its shape, without deciding whether "1,200" means 1.2 or 1200. The
/// convention of the column decides (`NumberConvention`), and `parse_number` then returns the value. Blanks around a
/// cell are ignored. Cells with units, currency or percent signs are not numbers; `split_unit` separates the number
/// from the unit.

#include <optional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

enum class DecimalMark { point, comma };
enum class ThousandsMark { none, comma, point, space };  ///< a space may also be U+00A0, U+202F or an apostrophe

struct NumberConvention {
  DecimalMark decimal = DecimalMark::point;
  ThousandsMark thousands = ThousandsMark::none;
  friend bool operator==(const NumberConvention&, const NumberConvention&) = default;
};

enum class NumberShape {
  none,          ///< not a number
  infinite,      ///< inf, infinity, or a number that overflows
  integer,       ///< 12, -3
  leading_zero,  ///< 03: a code rather than a quantity
  big_integer,   ///< an integer beyond 2^53, which a double cannot hold exactly
  point,         ///< 3.5, .5, 1e5
  point_three,   ///< 1.234: a decimal point or a thousands separator
  points,        ///< 1.234.567
  points_comma,  ///< 1.234,5
  comma,         ///< 3,5
  comma_three,   ///< 1,234: a decimal comma or a thousands separator
  commas,        ///< 1,234,567
  commas_point,  ///< 1,234.5
  spaces,        ///< 1 234
  spaces_point,  ///< 1 234.5
  spaces_comma   ///< 1 234,5
};
inline constexpr int kNumberShapes = static_cast<int>(NumberShape::spaces_comma) + 1;

struct NumberScan {
  NumberShape shape = NumberShape::none;
  bool shortest = false;  ///< the text is certainly the shortest one of its value (is_shortest_text)
  double value = 0;       ///< for `point_three` and `comma_three`: the value with a decimal mark
  double grouped = 0;  ///< for `point_three` and `comma_three`: the value with a thousands separator; otherwise `value`
  int decimals = 0;    ///< digits after the decimal mark minus the exponent, at least 0
  int digits = 0;      ///< number of digits, not counting the exponent
};

/// The largest integer up to which a double represents every integer exactly.
inline constexpr Index kLargestExactInteger = Index{1} << 53;

NumberScan scan_number(std::string_view text);

/// Returns whether a number with a decimal point is written as fmt formats its value.
bool is_shortest_text(std::string_view text, double value);

/// A cell divided into its number and the unit before or after it: "12 %", "$12.50", "-€3", "3.5 km".
struct UnitCell {
  std::string number;     ///< number with its sign; empty if the cell is not a number with a unit
  std::string_view unit;  ///< unit as written in the cell: "%", "$", "km"
};
/// Recognizes percent signs, currency and common units of measurement. Numbers without a unit have none.
UnitCell split_unit(std::string_view text);

/// Returns whether a cell of this shape is a number under the convention.
bool admits(const NumberConvention& convention, NumberShape shape);
/// Returns whether a `point_three` or `comma_three` is read with a thousands separator; false for other shapes.
bool reads_as_grouped(const NumberConvention& convention, NumberShape shape);

/// Returns the value, or std::nullopt if the text is not a finite number under the convention or is an integer beyond
/// 2^53.
std::optional<double> parse_number(std::string_view text, const NumberConvention& convention = {});

/// Formats a number with `decimals` digits after the point (0 to 17), the resolution of its column: 1234101.25 with two
/// digits is "1234101.25". Magnitudes from 1e17 on are formatted in the shortest form that is read back as the same
/// number. Zero has no sign. NaN is formatted as an empty cell, which is a missing value.
std::string format_number(double value, int decimals);

}  // namespace unfold
