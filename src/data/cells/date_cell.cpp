#include "data/cells/date_cell.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "data/cells/civil_date.h"
#include "data/cells/date_scan.h"

namespace unfold {
namespace {

constexpr std::array<const char*, kDateFormats> kDatePatterns = {
    "YYYY-MM-DD", "DD/MM/YYYY", "MM/DD/YYYY", "DD Mon YYYY", "YYYY-MM", "YYYYQn", "YYYY-Www",
    "HH:MM",      "YYYY",       "YYYYMMDD",   "unix",        "unix-ms", "YYYYMM"};
constexpr std::size_t kLongestDate = 48;

DateFormat format_of_shape(DateScan::Shape shape) {
  switch (shape) {
    case DateScan::Shape::month_name: return DateFormat::month_name;
    case DateScan::Shape::year_month: return DateFormat::year_month;
    case DateScan::Shape::quarter: return DateFormat::quarter;
    case DateScan::Shape::week: return DateFormat::week;
    case DateScan::Shape::time_of_day: return DateFormat::time_of_day;
    case DateScan::Shape::day_first: return DateFormat::day_month_year;
    case DateScan::Shape::month_first: return DateFormat::month_day_year;
    default: return DateFormat::year_month_day;
  }
}

/// Returns the order of the parts of a pattern with separators, one letter each (N is the name of a month): "DMY" for
/// DD.MM.YYYY. Empty if a part is unknown.
std::string order_of_parts(std::string_view pattern) {
  static constexpr auto kParts = std::to_array<std::pair<std::string_view, char>>(
      {{"YYYY", 'Y'}, {"YY", 'Y'}, {"MM", 'M'}, {"M", 'M'}, {"DD", 'D'}, {"D", 'D'}, {"MON", 'N'}, {"MMM", 'N'}});
  constexpr std::string_view kSeparators = "./- ,";
  std::string order, part;
  for (std::size_t i = 0; i <= pattern.size(); ++i) {
    const char c = i < pattern.size() ? pattern[i] : ' ';
    if (kSeparators.find(c) == std::string_view::npos) {
      part += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
      continue;
    }
    if (part.empty()) continue;  // ", "
    const auto known = std::ranges::find(kParts, std::string_view(part), &std::pair<std::string_view, char>::first);
    if (known == kParts.end()) return {};
    order += known->second;
    part.clear();
  }
  return order;
}

/// Returns the format of a pattern of quarters or weeks, with any separators: "Qn/YY", "FYYYYY Qn", "KW ww/YYYY".
std::optional<DateFormat> format_of_quarters_or_weeks(std::string_view pattern) {
  static constexpr auto kQuarters = std::to_array<std::string_view>(
      {"QNYYYY", "QNYY", "YYYYQN", "NQYYYY", "NQYY", "FYYYYYQN", "FYYYQN", "QNFYYYYY", "QNFYYY"});
  static constexpr auto kWeeks = std::to_array<std::string_view>(
      {"YYYYWWW", "WWWYYYY", "WWWYY", "YYYYKWWW", "KWWWYYYY", "KWWWYY", "YYYYCWWW", "CWWWYYYY", "CWWWYY"});
  std::string letters;
  for (const char c : pattern)
    if (const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; upper >= 'A' && upper <= 'Z')
      letters += upper;
  if (std::ranges::find(kQuarters, letters) != kQuarters.end()) return DateFormat::quarter;
  if (std::ranges::find(kWeeks, letters) != kWeeks.end()) return DateFormat::week;
  return {};
}

/// Three pairs of digits separated by two marks: 01-02-03.
struct ThreePairs {
  std::uint32_t first = 0, second = 0, third = 0;
};

/// Reads eight characters at `text` at once; false if they are not three pairs of digits between two marks.
[[gnu::always_inline]] inline bool read_pairs(const char* text, char mark, ThreePairs& pairs) {
  constexpr std::uint64_t kEachByte = 0x0101010101010101, kMarks = 0x0000FF0000FF0000, kZeros = '0' * kEachByte;
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little)
    std::memcpy(&word, text, sizeof word);
  else
    for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * i;
  const std::uint64_t pattern = (kZeros & ~kMarks) | (static_cast<unsigned char>(mark) * kEachByte & kMarks);
  const std::uint64_t digits = word ^ pattern;  // 0 to 9 for digits, 0 for marks
  if ((digits & kMarks) != 0 || ((digits | (digits + 6 * kEachByte)) & 0xF0 * kEachByte) != 0) return false;
  const std::uint64_t sums = digits * 10 + (digits >> 8);  // a pair of digits in bytes 0, 3 and 6
  const auto pair = [&](int byte) { return static_cast<std::uint32_t>(sums >> 8 * byte & 0xFF); };
  pairs = {pair(0), pair(3), pair(6)};
  return true;
}

/// Equivalent to days_from_civil for years from 1 on.
[[gnu::always_inline]] inline Index days_of_date(std::uint32_t year, std::uint32_t month, std::uint32_t day) {
  if (month <= 2) --year;
  const std::uint32_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return static_cast<Index>(365 * year + year / 4 - year / 100 + year / 400 + day_of_year) - 719468;
}

/// Scans YYYY-MM-DD and YYYY-MM-DD HH:MM[:SS]; false, with `moment` unchanged, for all other cells.
bool scan_usual_moment(std::string_view text, Moment& moment) {
  const std::size_t size = text.size();
  if (size != 10 && size != 16 && size != 19) return false;
  ThreePairs date;  // the pairs of YY-MM-DD
  if (!is_date_digit(text[0]) || !is_date_digit(text[1]) || !read_pairs(text.data() + 2, '-', date)) return false;
  const auto century = static_cast<std::uint32_t>((text[0] - '0') * 10 + text[1] - '0');
  const std::uint32_t year = century * 100 + date.first;
  constexpr std::uint32_t kShortestMonth = 28;
  const bool usual = year > 0 && date.second - 1 < 12 && date.third - 1 < kShortestMonth;
  if (!usual && !is_valid_date(year, date.second, date.third)) return false;
  Index second_of_day = 0;
  if (size > 10) {
    constexpr std::size_t kClock = 11, kMinutes = 5;
    ThreePairs clock;
    std::array<char, 8> padded = {'0', '0', ':', '0', '0', ':', '0', '0'};
    const char* digits = text.data() + kClock;
    if (size < kClock + padded.size()) {
      std::memcpy(padded.data(), digits, kMinutes);
      digits = padded.data();
    }
    const bool marks = text[10] == ' ' || text[10] == 'T';
    if (!marks || !read_pairs(digits, ':', clock)) return false;
    if (clock.first > 23 || clock.second > 59 || clock.third > 59) return false;
    second_of_day = Index{clock.first} * 3600 + Index{clock.second} * 60 + Index{clock.third};
  }
  moment.days = days_of_date(year, date.second, date.third);
  moment.has_time = size > 10;
  moment.second = second_of_day;
  return true;
}

bool scan_usual_date(std::string_view text, DateScan& scan) {
  if (!scan_usual_moment(text, scan.moment)) return false;
  scan.shape = DateScan::Shape::year_first;
  scan.separator = '-';
  scan.month_first.has_time = scan.moment.has_time;
  scan.month_first.second = scan.moment.second;
  return true;
}

}  // namespace

const char* date_pattern(DateFormat format) { return kDatePatterns[static_cast<std::size_t>(format)]; }

std::optional<DateFormat> date_format_of(std::string_view pattern) {
  for (std::size_t i = 0; i < kDatePatterns.size(); ++i) {
    if (pattern == kDatePatterns[i]) return static_cast<DateFormat>(i);
  }
  const std::string order = order_of_parts(pattern);
  if (order == "YMD") return DateFormat::year_month_day;
  if (order == "DMY") return DateFormat::day_month_year;
  if (order == "MDY") return DateFormat::month_day_year;
  if (order == "YM" || order == "MY") return DateFormat::year_month;
  if (order == "DNY" || order == "NDY" || order == "NY" || order == "YN") return DateFormat::month_name;
  return format_of_quarters_or_weeks(pattern);
}

bool also_reads_year_first(DateFormat format) {
  return format == DateFormat::day_month_year || format == DateFormat::month_day_year;
}

DateScan scan_date(std::string_view text) {
  DateScan scan;
  if (text.size() < 4 || text.size() > kLongestDate || scan_usual_date(text, scan)) return scan;
  return scan_written_date(text);
}

std::optional<Moment> date_of_integer(Index number, DateFormat format) {
  Moment moment;
  if (format == DateFormat::year) {
    if (number < 1000 || number > 2999) return {};
    moment.days = days_from_civil(number, 1, 1);
    return moment;
  }
  if (format == DateFormat::compact) {
    const Index year = number / 10000, month = number / 100 % 100, day = number % 100;
    if (year < 1000 || year > 2999 || !is_valid_date(year, month, day)) return {};
    moment.days = days_from_civil(year, month, day);
    return moment;
  }
  if (format == DateFormat::compact_month) {
    const Index year = number / 100, month = number % 100;
    if (year < 1000 || year > 2999 || !is_valid_date(year, month, 1)) return {};
    moment.days = days_from_civil(year, month, 1);
    return moment;
  }
  const bool milliseconds = format == DateFormat::unix_milliseconds;
  if (!milliseconds && format != DateFormat::unix_seconds) return {};
  const Index unit = milliseconds ? 1000 : 1;
  constexpr Index kFirst = 100'000'000, kLast = 9'999'999'999;  // Unix seconds from 1973 on
  if (number < kFirst * unit || number > kLast * unit) return {};
  const Index seconds = number / unit;
  moment.days = seconds / 86400;
  moment.second = seconds % 86400;
  moment.nanosecond = milliseconds ? number % 1000 * 1'000'000 : 0;
  moment.has_time = true;
  moment.zone = 0;
  return moment;
}

std::string_view without_zero_decimals(std::string_view text) {
  constexpr std::size_t kYearDigits = 4;
  const bool year = text.size() == kYearDigits + 2 && text.ends_with(".0") &&
                    std::all_of(text.begin(), text.begin() + kYearDigits, is_date_digit);
  return year ? text.substr(0, kYearDigits) : text;
}

std::optional<Moment> parse_date(std::string_view text, DateFormat format) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  if (format == DateFormat::year) text = without_zero_decimals(text);
  if (format >= DateFormat::year) {
    if (text.empty() || text.size() > 16 || !std::all_of(text.begin(), text.end(), is_date_digit)) return {};
    Index number = 0;
    for (const char c : text) number = number * 10 + (c - '0');
    return date_of_integer(number, format);
  }
  const bool year_may_be_first = format == DateFormat::year_month_day || also_reads_year_first(format);
  if (Moment moment; scan_usual_moment(text, moment)) return year_may_be_first ? std::optional(moment) : std::nullopt;
  DateScan scan = scan_date(text);
  const bool points = format == DateFormat::day_month_year || format == DateFormat::year_month;
  if (scan.shape == DateScan::Shape::none && points) scan = scan_short_date(text);
  if (scan.shape == DateScan::Shape::none) return {};
  if (scan.shape == DateScan::Shape::day_or_month_first) {
    if (format == DateFormat::day_month_year) return scan.moment;
    if (format == DateFormat::month_day_year) return scan.month_first;
    return {};
  }
  const bool fits =
      scan.shape == DateScan::Shape::year_first ? year_may_be_first : format_of_shape(scan.shape) == format;
  return fits ? std::optional(scan.moment) : std::nullopt;
}

}  // namespace unfold
