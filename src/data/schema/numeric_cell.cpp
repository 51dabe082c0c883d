#include "data/schema/numeric_cell.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace unfold {
namespace {

constexpr std::array<double, 23> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kMostDecimals = 17;
constexpr std::size_t kLongestNumber = 400;  ///< longer cells are texts

bool is_decimal_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Returns the number of bytes of a blank that separates thousands; 0 if there is none at `i`.
std::size_t thousands_blank(std::string_view text, std::size_t i) {
  if (text[i] == ' ') return 1;
  if (text.substr(i, 2) == "\xC2\xA0") return 2;
  return text.substr(i, 3) == "\xE2\x80\xAF" ? 3 : 0;
}

/// The result of the scan of the digits and marks before an exponent.
struct Mantissa {
  std::uint64_t value = 0;  ///< of the first 19 digits
  int digits = 0;
  int significant = 0;  ///< digits from the first nonzero one
  int before = 0;       ///< digits before the first mark
  int behind = 0;       ///< digits after the last mark
  int marks = 0;
  char first_mark = 0, last_mark = 0;  ///< ',', '.' or ' '
  bool first_zero = false;
  bool groups = true;  ///< the groups between marks have three digits, and the marks before the last one are equal

  void digit(char c) {
    if (digits == 0) first_zero = c == '0';
    if (significant > 0 || c != '0') ++significant;
    if (significant <= 19) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    ++digits;
    ++behind;
  }
  void mark(char c) {
    if (marks == 0) {
      before = digits;
      first_mark = c;
    } else {
      groups = groups && behind == 3 && last_mark == first_mark;
    }
    ++marks;
    last_mark = c;
    behind = 0;
  }
};

NumberShape shape_of_integer(const Mantissa& m) {
  if (m.digits >= 2 && m.first_zero) return NumberShape::leading_zero;
  const bool exact = m.significant <= 19 && m.value <= static_cast<std::uint64_t>(kLargestExactInteger);
  return exact ? NumberShape::integer : NumberShape::big_integer;
}

NumberShape shape_of_mantissa(const Mantissa& m, bool exponent) {
  if (m.digits == 0) return NumberShape::none;
  if (m.marks == 0) return exponent ? NumberShape::point : shape_of_integer(m);
  const bool grouping = m.before >= 1 && m.before <= 3 && !m.first_zero && !exponent;
  if (m.marks == 1) {
    const bool ambiguous = grouping && m.behind == 3;
    if (m.last_mark == '.') return ambiguous ? NumberShape::point_three : NumberShape::point;
    if (m.last_mark == ' ') return ambiguous ? NumberShape::spaces : NumberShape::none;
    if (m.behind == 0) return NumberShape::none;
    return ambiguous ? NumberShape::comma_three : NumberShape::comma;
  }
  if (!grouping || !m.groups) return NumberShape::none;
  if (m.last_mark == m.first_mark) {
    if (m.behind != 3) return NumberShape::none;
    return m.first_mark == '.' ? NumberShape::points : m.first_mark == ',' ? NumberShape::commas : NumberShape::spaces;
  }
  if (m.last_mark == ' ' || m.behind == 0) return NumberShape::none;
  if (m.first_mark == ' ') return m.last_mark == '.' ? NumberShape::spaces_point : NumberShape::spaces_comma;
  return m.last_mark == '.' ? NumberShape::commas_point : NumberShape::points_comma;
}

/// Returns whether the last mark separates decimals (in the decimal reading of the ambiguous shapes).
bool has_decimals(NumberShape shape, const Mantissa& m) {
  return m.marks > 0 && shape != NumberShape::points && shape != NumberShape::commas && shape != NumberShape::spaces;
}

/// Reads the digits of a number whose value needs correct rounding: without the marks, with `decimals` digits after the
/// point. `magnitude` is the decimal exponent of the first significant digit; it distinguishes overflow from underflow.
double rounded_value(std::string_view mantissa, int decimals, std::string_view exponent, int magnitude) {
  std::string plain;
  for (const char c : mantissa) {
    if (is_decimal_digit(c)) plain += c;
  }
  plain.insert(plain.size() - static_cast<std::size_t>(decimals), 1, '.');
  plain.insert(0, 1, '0');
  if (!exponent.empty()) {
    plain += 'e';
    plain += exponent[0] == '+' ? exponent.substr(1) : exponent;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0;
}

bool is_infinity(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower == "inf" || lower == "infinity";
}

std::string_view trimmed_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Returns whether `text` is an exponent: digits with an optional sign.
bool is_exponent(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_decimal_digit);
}

/// Returns the exponent as an integer, at most 9999 in magnitude.
int exponent_value(std::string_view text) {
  const bool negative = text[0] == '-';
  int value = 0;
  for (const char c : text) {
    if (is_decimal_digit(c)) value = std::min(9999, value * 10 + (c - '0'));
  }
  return negative ? -value : value;
}

/// Scans up to 15 digits with at most one decimal point, the form of most numbers; false for all other cells.
bool scan_plain_number(std::string_view text, NumberScan& scan) {
  constexpr std::size_t kMostPlainBytes = 16;
  std::size_t i = text[0] == '-' ? 1 : 0;
  const std::size_t begin = i, size = text.size();
  if (size > kMostPlainBytes || begin == size) return false;
  std::uint64_t value = 0;
  for (; i < size && is_decimal_digit(text[i]); ++i) value = value * 10 + static_cast<std::uint64_t>(text[i] - '0');
  const std::size_t before = i - begin;
  if (before == 0) return false;
  std::size_t behind = 0;
  if (i < size) {
    if (text[i] != '.') return false;
    for (++i; i < size && is_decimal_digit(text[i]); ++i, ++behind) {
      value = value * 10 + static_cast<std::uint64_t>(text[i] - '0');
    }
    if (i < size || behind == 0 || before + behind > 15) return false;
    scan.shape = behind == 3 && before <= 3 && text[begin] != '0' ? NumberShape::point_three : NumberShape::point;
  } else {
    if (before > 15) return false;
    scan.shape = before > 1 && text[begin] == '0' ? NumberShape::leading_zero : NumberShape::integer;
  }
  scan.digits = static_cast<int>(before + behind);
  scan.decimals = static_cast<int>(behind);
  const auto whole = static_cast<double>(value);
  scan.value = behind == 0 ? whole : whole / kPowersOfTen[behind];
  scan.grouped = scan.shape == NumberShape::point_three ? whole : scan.value;
  if (begin == 1) {
    scan.value = -scan.value;
    scan.grouped = -scan.grouped;
  }
  return true;
}

}  // namespace

NumberScan scan_number(std::string_view text) {
  NumberScan scan;
  if (text.empty() || text.size() > kLongestNumber || scan_plain_number(text, scan)) return scan;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  if (text.empty()) return scan;
  if (text[0] == 'i' || text[0] == 'I') {
    if (is_infinity(text)) scan.shape = NumberShape::infinite;
    return scan;
  }
  if (!is_decimal_digit(text[0]) && text[0] != '.' && text[0] != ',') return scan;

  Mantissa m;
  std::string_view exponent;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (is_decimal_digit(c)) {
      m.digit(c);
      ++i;
    } else if (c == '.' || c == ',') {
      m.mark(c);
      ++i;
    } else if (c == 'e' || c == 'E') {
      exponent = text.substr(i + 1);
      if (!is_exponent(exponent)) return scan;
      break;
    } else {
      const std::size_t blank = thousands_blank(text, i);
      if (blank == 0) return scan;
      m.mark(' ');
      i += blank;
    }
  }
  scan.shape = shape_of_mantissa(m, !exponent.empty());
  if (scan.shape == NumberShape::none) return scan;
  scan.digits = m.digits;
  const int decimals = has_decimals(scan.shape, m) ? m.behind : 0;
  const int shift = exponent.empty() ? 0 : exponent_value(exponent);
  scan.decimals = std::clamp(decimals - shift, 0, kMostDecimals);
  if (exponent.empty() && m.significant <= 19 && m.value <= static_cast<std::uint64_t>(kLargestExactInteger) &&
      decimals <= 22) {
    scan.value = static_cast<double>(m.value) / kPowersOfTen[static_cast<std::size_t>(decimals)];
    scan.grouped = static_cast<double>(m.value);
  } else {
    scan.value = rounded_value(text.substr(0, i), decimals, exponent, m.significant - decimals + shift);
    scan.grouped = scan.value;
    if (std::isinf(scan.value)) scan.shape = NumberShape::infinite;
  }
  const bool ambiguous = scan.shape == NumberShape::point_three || scan.shape == NumberShape::comma_three;
  if (!ambiguous) scan.grouped = scan.value;
  if (negative) {
    scan.value = -scan.value;
    scan.grouped = -scan.grouped;
  }
  return scan;
}

namespace {

constexpr std::string_view kNoBreakSpace = "\xC2\xA0", kNarrowSpace = "\xE2\x80\xAF";

/// Without spaces, also those at which lines do not break, before a unit or a number.
std::string_view without_first_blanks(std::string_view text) {
  for (;;) {
    if (text.starts_with(' ') || text.starts_with('\t'))
      text.remove_prefix(1);
    else if (text.starts_with(kNoBreakSpace))
      text.remove_prefix(kNoBreakSpace.size());
    else if (text.starts_with(kNarrowSpace))
      text.remove_prefix(kNarrowSpace.size());
    else
      return text;
  }
}

}  // namespace

UnitCell split_unit(std::string_view text) {
  static constexpr auto kSigns = std::to_array<std::string_view>(
      {"%", "‰", "$", "€", "£", "¥", "₹", "US$", "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD"});
  static constexpr auto kMeasures = std::to_array<std::string_view>(
      {"°C",  "°F",  "°",    "mm",  "cm", "m",   "km",  "mg",  "g",  "kg",  "ml",  "l",  "µs",  "ms",
       "s",   "sec", "min",  "h",   "Hz", "kHz", "MHz", "GHz", "kW", "kWh", "MWh", "Pa", "hPa", "kPa",
       "bar", "mph", "km/h", "m/s", "kB", "KB",  "MB",  "GB",  "mi", "ft",  "lb",  "oz"});
  constexpr std::size_t kLongestCell = 48;
  if (text.size() < 2 || text.size() > kLongestCell) return {};
  const auto starts_number = [](char c) { return is_decimal_digit(c) || c == '.' || c == ','; };
  std::string_view sign, rest = text, unit;
  if (rest[0] == '-' || rest[0] == '+') {
    sign = rest.substr(0, 1);
    rest = trimmed_number(rest.substr(1));
  }
  if (rest.empty()) return {};
  if (starts_number(rest[0])) {
    std::size_t end = rest.size();
    while (end > 0 && !is_decimal_digit(rest[end - 1]) && rest[end - 1] != '.') --end;
    unit = without_first_blanks(rest.substr(end));
    rest = rest.substr(0, end);
  } else {
    const auto begin = std::find_if(rest.begin(), rest.end(),
                                    [&](char c) { return starts_number(c) || c == ' ' || c == '-' || c == '+'; });
    unit = rest.substr(0, static_cast<std::size_t>(begin - rest.begin()));
    unit = unit.substr(0, std::min(unit.find(kNoBreakSpace), unit.find(kNarrowSpace)));
    rest = without_first_blanks(rest.substr(unit.size()));
    if (std::find(kSigns.begin(), kSigns.end(), unit) == kSigns.end() || unit == "%" || unit == "‰") return {};
    if (!sign.empty() && !rest.empty() && !starts_number(rest[0])) return {};
  }
  if (unit.empty() || rest.empty()) return {};
  const bool known = std::find(kSigns.begin(), kSigns.end(), unit) != kSigns.end() ||
                     std::find(kMeasures.begin(), kMeasures.end(), unit) != kMeasures.end();
  const NumberShape shape = known ? scan_number(rest).shape : NumberShape::none;
  if (shape == NumberShape::none || shape == NumberShape::infinite || shape == NumberShape::leading_zero) return {};
  return {std::string(sign) + std::string(rest), unit};
}

bool admits(const NumberConvention& convention, NumberShape shape) {
  const bool point = convention.decimal == DecimalMark::point;
  const auto thousands = [&](ThousandsMark mark) { return convention.thousands == mark; };
  switch (shape) {
    case NumberShape::none:
    case NumberShape::infinite: return false;
    case NumberShape::integer:
    case NumberShape::leading_zero:
    case NumberShape::big_integer: return true;
    case NumberShape::point: return point;
    case NumberShape::point_three: return point || thousands(ThousandsMark::point);
    case NumberShape::points: return thousands(ThousandsMark::point);
    case NumberShape::points_comma: return !point && thousands(ThousandsMark::point);
    case NumberShape::comma: return !point;
    case NumberShape::comma_three: return !point || thousands(ThousandsMark::comma);
    case NumberShape::commas: return thousands(ThousandsMark::comma);
    case NumberShape::commas_point: return point && thousands(ThousandsMark::comma);
    case NumberShape::spaces: return thousands(ThousandsMark::space);
    case NumberShape::spaces_point: return point && thousands(ThousandsMark::space);
    case NumberShape::spaces_comma: return !point && thousands(ThousandsMark::space);
  }
  return false;
}

bool reads_as_grouped(const NumberConvention& convention, NumberShape shape) {
  return (shape == NumberShape::point_three && convention.decimal != DecimalMark::point) ||
         (shape == NumberShape::comma_three && convention.decimal != DecimalMark::comma);
}

std::optional<double> parse_number(std::string_view text, const NumberConvention& convention) {
  const NumberScan scan = scan_number(trimmed_number(text));
  if (!admits(convention, scan.shape) || scan.shape == NumberShape::big_integer) return {};
  if (scan.shape == NumberShape::leading_zero && std::abs(scan.value) > static_cast<double>(kLargestExactInteger)) {
    return {};
  }
  return reads_as_grouped(convention, scan.shape) ? scan.grouped : scan.value;
}

std::string format_number(double value, int decimals) {
  if (std::isnan(value)) return {};
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> text;
  char* end = text.data();
  if (std::abs(value) < 1e17) {
    end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed,
                        std::clamp(decimals, 0, kMostDecimals))
              .ptr;
  } else {
    end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  }
  std::string result(text.data(), end);
  if (result[0] == '-' && result.find_first_not_of("-0.") == std::string::npos) result.erase(0, 1);
  return result;
}

}  // namespace unfold
