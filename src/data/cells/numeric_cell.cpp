#include "data/cells/numeric_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "data/cells/decimal_rounding.h"

namespace unfold {
namespace {

constexpr std::array<double, 23> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kMostDecimals = 17;
constexpr std::size_t kLongestNumber = 400;  ///< longer cells are text

bool is_decimal_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Returns the number of bytes of a blank or an apostrophe that separates thousands; 0 if there is none at `i`.
std::size_t thousands_blank(std::string_view text, std::size_t i) {
  if (text[i] == ' ' || text[i] == '\'') return 1;
  if (text.substr(i, 2) == "\xC2\xA0") return 2;
  return text.substr(i, 3) == "\xE2\x80\xAF" || text.substr(i, 3) == "\xE2\x80\x99" ? 3 : 0;
}

/// Returns the number of bytes of a minus sign (- or U+2212) at the beginning; 0 if there is none.
std::size_t minus_sign(std::string_view text) {
  if (text.starts_with('-')) return 1;
  return text.starts_with("\xE2\x88\x92") ? 3 : 0;
}

/// Returns whether a cell is in parentheses, which make an amount negative in accounts.
bool is_in_parentheses(std::string_view text) { return text.size() > 2 && text.front() == '(' && text.back() == ')'; }

/// Returns whether a number with a decimal or thousands mark ends in a minus sign, as in exports of SAP: 1.307,57-.
/// Integers such as 2- may be grades or the beginnings of ranges.
bool has_minus_behind(std::string_view text) {
  return text.size() > 2 && text.back() == '-' && is_decimal_digit(text[text.size() - 2]) &&
         text.find_first_of(".,") != std::string_view::npos && text.find_first_of("eE") == std::string_view::npos;
}

/// The result of the scan of the digits and marks before an exponent.
struct Mantissa {
  std::uint64_t value = 0;  ///< value of the first 19 digits
  int digits = 0;
  int significant = 0;  ///< digits from the first nonzero one
  int before = 0;       ///< digits before the first mark
  int behind = 0;       ///< digits after the last mark
  int marks = 0;
  char first_mark = 0, last_mark = 0;  ///< ',', '.' or ' '
  bool first_zero = false;
  /// The groups between marks have three digits (in India, those before the last one have two), and the marks before
  /// the last one are equal.
  bool groups = true;

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
      groups = groups && (behind == 3 || (behind == 2 && c == ',')) && last_mark == first_mark;
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

/// Returns the value of digits with at most one decimal point and an exponent, correctly rounded. `magnitude` is the
/// decimal exponent of the first significant digit; it distinguishes overflow from underflow.
double rounded_plain(std::string_view plain, int magnitude) {
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0;
}

/// Like the function above, for digits with other marks; `decimals` digits follow the decimal mark.
double rounded_marked(std::string_view mantissa, int decimals, std::string_view exponent, int magnitude) {
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
  return rounded_plain(plain, magnitude);
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

constexpr std::size_t kMostPlainDigits = 19;     ///< maximum number of digits whose integer fits into 64 bits
constexpr std::size_t kMostShortestDigits = 15;  ///< all decimals with up to 15 digits are exact in a double
constexpr std::size_t kMostZeros = 2;  ///< zeros after the point of a number that is shown without an exponent
constexpr std::size_t kHalfBytes = 8;
constexpr std::uint64_t kEachByteOfEight = 0x0101010101010101, kEightZeros = 0x30 * kEachByteOfEight;

/// Returns whether all eight characters are digits.
[[gnu::always_inline]] inline bool are_digits(std::uint64_t word) {
  return ((word & (word + 0x06 * kEachByteOfEight)) & 0xF0 * kEachByteOfEight) == kEightZeros;
}

/// Returns the integer of eight digits, the first of which is in the lowest bits (Lemire).
[[gnu::always_inline]] inline std::uint64_t integer_of_digits(std::uint64_t word) {
  constexpr std::uint64_t kPairs = 0x000000FF000000FF;
  word -= kEightZeros;
  word = word * 10 + (word >> 8);  // pairs of digits, in every second byte
  return ((word & kPairs) * (100 + (std::uint64_t{1'000'000} << 32)) +
          (word >> 16 & kPairs) * (1 + (std::uint64_t{10'000} << 32))) >>
             32 &
         0xFFFFFFFF;
}

[[gnu::always_inline]] inline std::uint64_t load_characters(const char* bytes, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

/// One to eight characters, preceded by zeros; the last one is in the highest bits.
[[gnu::always_inline]] inline std::uint64_t padded_word(const char* bytes, std::size_t size) {
  std::uint64_t word = 0;
  if (size == kHalfBytes) return load_characters(bytes, kHalfBytes);
  if (size >= 4)  // two loads that overlap
    word = load_characters(bytes, 4) | load_characters(bytes + size - 4, 4) << 8 * (size - 4);
  else  // three bytes that may be the same
    for (const std::size_t i : {std::size_t{0}, size / 2, size - 1})
      word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  return word << 8 * (kHalfBytes - size) | kEightZeros >> 8 * size;
}

/// Digits with at most one decimal point.
struct PlainDigits {
  std::uint64_t value = 0;
  std::size_t digits = 0, decimals = 0;
};

/// Removes a decimal point from a word: the lower characters move up by one, and `first` becomes the lowest. Returns
/// the number of characters above the point; kHalfBytes if there is none.
[[gnu::always_inline]] inline std::size_t remove_point(std::uint64_t& word, std::uint64_t first) {
  constexpr std::uint64_t kHigh = 0x80 * kEachByteOfEight;
  const std::uint64_t x = word ^ (std::uint64_t{'.'} * kEachByteOfEight);
  const std::uint64_t points = (x - kEachByteOfEight) & ~x & kHigh;  // the lowest bit is that of the lowest point
  if (points == 0) return kHalfBytes;
  const std::uint64_t to_point = points ^ (points - 1), below = word & to_point >> 8;
  word = (word & ~to_point) | below << 8 | first;
  return kHalfBytes - 1 - static_cast<std::size_t>(std::countr_zero(points)) / 8;
}

/// Reads up to 8, and up to 16 characters at once; false if they are not digits with at most one point.
[[gnu::always_inline]] inline bool read_word(const char* bytes, std::size_t size, PlainDigits& plain) {
  std::uint64_t word = padded_word(bytes, size);
  const std::size_t decimals = remove_point(word, '0');
  if (!are_digits(word)) return false;
  const bool point = decimals < kHalfBytes;
  plain = {.value = integer_of_digits(word), .digits = size - (point ? 1 : 0), .decimals = point ? decimals : 0};
  return true;
}
[[gnu::always_inline]] inline bool read_two_words(const char* bytes, std::size_t size, PlainDigits& plain) {
  std::uint64_t last = load_characters(bytes + size - kHalfBytes, kHalfBytes);
  std::uint64_t first = padded_word(bytes, size - kHalfBytes);
  std::size_t decimals = remove_point(last, first >> 56);
  if (decimals < kHalfBytes)
    first = first << 8 | '0';
  else
    decimals += remove_point(first, '0');
  if (!are_digits(last) || !are_digits(first)) return false;
  const bool point = decimals < 2 * kHalfBytes;
  plain = {.value = integer_of_digits(first) * 100'000'000 + integer_of_digits(last),
           .digits = size - (point ? 1 : 0),
           .decimals = point ? decimals : 0};
  return true;
}

/// Like the function above, one character at a time.
bool read_characters(std::string_view text, PlainDigits& plain) {
  std::size_t points = 0;
  for (const char c : text) {
    if (is_decimal_digit(c)) {
      plain.value = plain.value * 10 + static_cast<std::uint64_t>(c - '0');
      ++plain.digits;
      plain.decimals += points;
    } else if (c != '.' || ++points > 1) {
      return false;
    }
  }
  return true;
}
/// Reads 17 to 20 characters: the last 16 of them at once.
bool read_long(const char* bytes, std::size_t size, PlainDigits& plain) {
  constexpr std::size_t kLast = 2 * kHalfBytes;
  constexpr std::uint64_t kScale = 1'000'000'000'000'000;
  PlainDigits first, last;
  const std::size_t before = size - kLast;
  if (!read_characters({bytes, before}, first) || !read_two_words(bytes + before, kLast, last)) return false;
  const bool point_first = first.digits < before, point_last = last.digits < kLast;
  if (point_first && point_last) return false;
  plain = {.value = first.value * (point_last ? kScale : 10 * kScale) + last.value,
           .digits = first.digits + last.digits,
           .decimals = point_first ? first.decimals + kLast : last.decimals};
  return true;
}

/// Returns whether three characters are zeros.
[[gnu::always_inline]] inline bool are_zeros(const char* characters) {
  return characters[0] == '0' && characters[1] == '0' && characters[2] == '0';
}

/// Scans up to 19 digits with at most one decimal point, the form of most numbers; false for all other cells.
[[gnu::always_inline]] inline bool scan_plain_number(std::string_view text, NumberScan& scan) {
  const std::size_t begin = text[0] == '-' ? 1 : 0, size = text.size() - begin;
  if (size - 1 > kMostPlainDigits || !is_decimal_digit(text[begin]) || text.back() == '.') return false;
  PlainDigits plain;
  constexpr bool kWords = std::endian::native == std::endian::little;
  const bool digits = !kWords                  ? read_characters(text.substr(begin), plain)
                      : size <= kHalfBytes     ? read_word(text.data() + begin, size, plain)
                      : size <= 2 * kHalfBytes ? read_two_words(text.data() + begin, size, plain)
                                               : read_long(text.data() + begin, size, plain);
  if (!digits || plain.digits > kMostPlainDigits) return false;
  const bool exact = plain.value <= static_cast<std::uint64_t>(kLargestExactInteger);
  const double sign = begin == 1 ? -1 : 1;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(plain.value));  // used for at most 18 digits
  bool shortest = plain.digits <= kMostShortestDigits;
  if (plain.decimals == 0) {
    if (!exact) return false;
    scan.shape = size > 1 && text[begin] == '0' ? NumberShape::leading_zero : NumberShape::integer;
    scan.value = whole * sign;
  } else {
    const bool three = plain.decimals == 3 && plain.digits <= 6 && text[begin] != '0';
    scan.shape = three ? NumberShape::point_three : NumberShape::point;
    if (RoundedDecimal rounded; !shortest && round_decimal(plain.value, plain.decimals, rounded)) {
      scan.value = rounded.value * sign;
      shortest = rounded.shortest;
    } else {
      scan.value = (exact ? whole / kPowersOfTen[plain.decimals] : rounded_plain(text.substr(begin), 0)) * sign;
    }
  }
  scan.digits = static_cast<int>(plain.digits);
  scan.decimals = std::min(static_cast<int>(plain.decimals), kMostDecimals);
  // Small numbers, which are shown with an exponent, are left to is_shortest_text.
  const bool zero = text[begin] == '0', small = zero && plain.decimals > kMostZeros;
  const bool usual = plain.decimals == 0 ? !zero || size == 1 : text.back() != '0' && (!zero || text[begin + 1] == '.');
  scan.shortest = usual && shortest && (!small || !are_zeros(text.data() + begin + 2));
  scan.grouped = scan.shape == NumberShape::point_three ? whole * sign : scan.value;
  return true;
}

/// The bytes with which a number can begin: a digit, a mark, a sign, a parenthesis, or the first letter of "inf".
constexpr std::array<bool, 256> kBeginsNumber = [] {
  std::array<bool, 256> begins = {};
  for (const char c : std::string_view("0123456789.,+-\xE2(iI")) begins[static_cast<unsigned char>(c)] = true;
  return begins;
}();

/// Returns whether a text begins like a date with the year first. A number has a minus sign only before all digits, or
/// after them.
bool has_year(std::string_view text) { return text.size() > 5 && text[4] == '-' && is_decimal_digit(text[3]); }

/// Scans all other numbers. Kept out of the function above, which is called for every cell of a table.
[[gnu::noinline]] NumberScan scan_other_number(std::string_view text) {
  NumberScan scan;
  const bool parentheses = is_in_parentheses(text);
  if (parentheses) text = text.substr(1, text.size() - 2);
  const std::size_t sign = parentheses ? 0 : text[0] == '+' ? 1 : minus_sign(text);
  const bool minus = parentheses || (sign > 0 && text[0] != '+');
  text.remove_prefix(sign);
  const bool minus_behind = sign == 0 && !parentheses && has_minus_behind(text);
  if (minus_behind) text.remove_suffix(1);
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
    const bool plain = m.marks == 0 || (m.marks == 1 && m.last_mark == '.');
    const int magnitude = m.significant - decimals + shift;
    scan.value =
        plain ? rounded_plain(text, magnitude) : rounded_marked(text.substr(0, i), decimals, exponent, magnitude);
    scan.grouped = scan.value;
    if (std::isinf(scan.value)) scan.shape = NumberShape::infinite;
  }
  const bool ambiguous = scan.shape == NumberShape::point_three || scan.shape == NumberShape::comma_three;
  if (!ambiguous) scan.grouped = scan.value;
  if (minus || minus_behind) {
    scan.value = -scan.value;
    scan.grouped = -scan.grouped;
  }
  return scan;
}

}  // namespace

NumberScan scan_number(std::string_view text) {
  NumberScan scan;
  if (text.empty() || !kBeginsNumber[static_cast<unsigned char>(text[0])]) return scan;
  if (text.size() > kLongestNumber || has_year(text) || scan_plain_number(text, scan)) return scan;
  return scan_other_number(text);
}

namespace {

/// Returns whether digits with at most one decimal point are the shortest decimal text of their value: at most 15 of
/// them, no leading zeros except a single one before the point, no trailing zeros after it, and not so small that it
/// would have an exponent.
bool is_shortest_decimal(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  if (point == 0 || text.size() > kMostShortestDigits + 1) return false;
  if (point > 1 && text[0] == '0') return false;
  if (point == text.size()) return text.size() <= kMostShortestDigits;
  if (point + 1 == text.size() || text.back() == '0' || text.find('.', point + 1) != std::string_view::npos)
    return false;
  return text[0] != '0' || !text.substr(point + 1).starts_with("000");
}

}  // namespace

bool is_shortest_text(std::string_view text, double value) {
  const std::string_view magnitude = text.starts_with('-') && text != "-0" ? text.substr(1) : text;
  const bool digits =
      std::all_of(magnitude.begin(), magnitude.end(), [](char c) { return is_decimal_digit(c) || c == '.'; });
  if (digits && is_shortest_decimal(magnitude)) return true;
  fmt::memory_buffer shown;
  fmt::format_to(std::back_inserter(shown), "{}", value);
  return std::string_view(shown.data(), shown.size()) == text;
}

namespace {

constexpr std::string_view kNoBreakSpace = "\xC2\xA0", kNarrowSpace = "\xE2\x80\xAF";

/// Removes spaces, including non-breaking ones, before a unit or a number.
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

/// The bytes with which a number with a unit can begin: a digit, a mark, a sign, a parenthesis or a currency.
constexpr std::array<bool, 256> kBeginsUnitCell = [] {
  std::array<bool, 256> begins = {};
  for (const char c : std::string_view("0123456789.,+-(\xE2$UEGJCA\xC2")) begins[static_cast<unsigned char>(c)] = true;
  return begins;
}();

/// Returns whether a cell may be a number with a unit; false for most texts. The letters of a currency are upper-case.
bool may_have_unit(std::string_view text) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  constexpr std::size_t kLongestCell = 48;
  return text.size() >= 2 && text.size() <= kLongestCell && kBeginsUnitCell[static_cast<unsigned char>(text[0])] &&
         (!is_upper(text[0]) || is_upper(text[1]));
}

/// REQUIRES may_have_unit(text).
[[gnu::noinline]] UnitCell split_unit_of_number(std::string_view text) {
  static constexpr auto kSigns = std::to_array<std::string_view>(
      {"%", "‰", "$", "€", "£", "¥", "₹", "US$", "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD"});
  constexpr std::ptrdiff_t kRatios = 2;  // the first signs are not currencies
  static constexpr auto kMeasures = std::to_array<std::string_view>(
      {"°C",  "°F",  "°",    "mm",  "cm", "m",   "km",  "mg",  "g",  "kg",  "ml",  "l",  "µs",  "ms",
       "s",   "sec", "min",  "h",   "Hz", "kHz", "MHz", "GHz", "kW", "kWh", "MWh", "Pa", "hPa", "kPa",
       "bar", "mph", "km/h", "m/s", "kB", "KB",  "MB",  "GB",  "mi", "ft",  "lb",  "oz"});
  const auto starts_number = [](char c) { return is_decimal_digit(c) || c == '.' || c == ','; };
  std::string_view sign, rest = text, unit;
  if (is_in_parentheses(text)) {
    sign = "-";
    rest = text.substr(1, text.size() - 2);
    if (!starts_number(rest.back()) && !starts_number(rest[0])) return {};
  } else if (const std::size_t minus = minus_sign(rest); minus > 0 || rest[0] == '+') {
    sign = minus > 0 ? "-" : "+";
    rest = without_first_blanks(rest.substr(std::max<std::size_t>(minus, 1)));
  }
  if (rest.empty()) return {};
  if (starts_number(rest[0])) {
    std::size_t end = rest.size();
    while (end > 0 && !is_decimal_digit(rest[end - 1]) && rest[end - 1] != '.') --end;
    unit = without_first_blanks(rest.substr(end));
    rest = rest.substr(0, end);
  } else {
    const auto currency = std::find_if(kSigns.begin() + kRatios, kSigns.end(), [&](std::string_view candidate) {
      return candidate[0] == rest[0] && rest.starts_with(candidate);
    });
    if (currency == kSigns.end()) return {};
    unit = rest.substr(0, currency->size());
    rest = without_first_blanks(rest.substr(unit.size()));
    // Accounts show zero as a dash: "$ -" and "- €".
    if (sign.empty() ? minus_sign(rest) == rest.size() && !rest.empty() : sign == "-" && rest.empty())
      return {"0", unit};
    if (sign.empty() && is_in_parentheses(rest)) {
      sign = "-";
      rest = rest.substr(1, rest.size() - 2);
    }
    if (!sign.empty() && !rest.empty() && !starts_number(rest[0])) return {};
  }
  if (unit.empty() || rest.empty()) return {};
  const bool known = std::find(kSigns.begin(), kSigns.end(), unit) != kSigns.end() ||
                     std::find(kMeasures.begin(), kMeasures.end(), unit) != kMeasures.end();
  const NumberShape shape = known ? scan_number(rest).shape : NumberShape::none;
  if (shape == NumberShape::none || shape == NumberShape::infinite || shape == NumberShape::leading_zero) return {};
  return {std::string(sign) + std::string(rest), unit};
}

}  // namespace

UnitCell split_unit(std::string_view text) { return may_have_unit(text) ? split_unit_of_number(text) : UnitCell{}; }

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
