#include "data/cells/date_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace unfold {
namespace {

constexpr std::array<const char*, kDateFormats> kDatePatterns = {
    "YYYY-MM-DD", "DD/MM/YYYY", "MM/DD/YYYY", "DD Mon YYYY", "YYYY-MM", "YYYYQn", "YYYY-Www",
    "HH:MM",      "YYYY",       "YYYYMMDD",   "unix",        "unix-ms", "YYYYMM"};
constexpr std::size_t kLongestDate = 48;
constexpr double kRegularShare = 0.9;

bool is_date_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_date_letter(char c) { return lower_letter(c) >= 'a' && lower_letter(c) <= 'z'; }

bool is_leap_year(Index y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }
Index days_in_month(Index year, Index month) {
  constexpr std::array<Index, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[at(month - 1)] + (month == 2 && is_leap_year(year) ? 1 : 0);
}

/// Reads a cell from left to right. Every function that fails leaves the position unchanged.
class DateCursor {
 public:
  explicit DateCursor(std::string_view text) : text_(text) {}
  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  bool accept(char c) {
    if (peek() != c || at_end()) return false;
    ++position_;
    return true;
  }
  /// Accepts an upper-case or lower-case letter.
  bool accept_letter(char c) {
    if (lower_letter(peek()) != c) return false;
    ++position_;
    return true;
  }
  void skip_blanks() {
    while (peek() == ' ') ++position_;
  }
  std::size_t digits_ahead() const {
    std::size_t n = 0;
    while (position_ + n < text_.size() && is_date_digit(text_[position_ + n])) ++n;
    return n;
  }
  /// Reads a number of `least` to `most` digits that is not followed by another digit.
  bool number(std::size_t least, std::size_t most, Index& value) {
    const std::size_t n = digits_ahead();
    if (n < least || n > most) return false;
    value = 0;
    for (std::size_t i = 0; i < n; ++i) value = value * 10 + (text_[position_++] - '0');
    return true;
  }
  /// Reads a word of letters in lower case.
  std::string word() {
    std::string result;
    while (is_date_letter(peek())) result += lower_letter(text_[position_++]);
    return result;
  }
  std::size_t position() const { return position_; }
  void back_to(std::size_t position) { position_ = position; }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

/// Returns the month of an English name or abbreviation; 0 for other words.
Index month_of(const std::string& word) {
  static const std::array<std::string, 12> kNames = {"january",   "february", "march",    "april",
                                                     "may",       "june",     "july",     "august",
                                                     "september", "october",  "november", "december"};
  if (word == "sept") return 9;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (word == kNames[i] || (word.size() == 3 && kNames[i].compare(0, 3, word) == 0)) {
      return static_cast<Index>(i) + 1;
    }
  }
  return 0;
}

bool is_weekday(const std::string& word) {
  static const std::array<std::string, 7> kNames = {"monday", "tuesday",  "wednesday", "thursday",
                                                    "friday", "saturday", "sunday"};
  return std::any_of(kNames.begin(), kNames.end(), [&](const std::string& name) {
    return word.size() >= 3 && word.size() <= name.size() && name.compare(0, word.size(), word) == 0;
  });
}

bool read_fraction(DateCursor& in, Moment& moment) {
  Index digits = 0;
  if (in.digits_ahead() == 0) return false;
  while (is_date_digit(in.peek())) {
    if (digits < 9) moment.nanosecond = moment.nanosecond * 10 + (in.peek() - '0');
    ++digits;
    in.accept(in.peek());
  }
  for (; digits < 9; ++digits) moment.nanosecond *= 10;
  return true;
}

bool read_half_of_day(DateCursor& in, Index& hour) {
  const std::size_t start = in.position();
  in.skip_blanks();
  const bool morning = lower_letter(in.peek()) == 'a', evening = lower_letter(in.peek()) == 'p';
  if ((morning || evening) && in.accept(in.peek()) && in.accept_letter('m')) {
    if (hour < 1 || hour > 12) return false;
    hour = hour % 12 + (evening ? 12 : 0);
    return true;
  }
  in.back_to(start);
  return true;
}

/// Returns the minutes east of UTC of an abbreviation in lower case: the abbreviations of RFC 5322, and those that
/// stand for a single zone.
std::optional<Index> zone_of(std::string_view word) {
  static constexpr auto kZones = std::to_array<std::pair<std::string_view, int>>(
      {{"z", 0},      {"utc", 0},    {"gmt", 0},    {"wet", 0},    {"west", 60},  {"cet", 60},   {"met", 60},
       {"mez", 60},   {"cest", 120}, {"mest", 120}, {"mesz", 120}, {"eet", 120},  {"eest", 180}, {"msk", 180},
       {"jst", 540},  {"kst", 540},  {"aest", 600}, {"aedt", 660}, {"est", -300}, {"edt", -240}, {"cst", -360},
       {"cdt", -300}, {"mst", -420}, {"mdt", -360}, {"pst", -480}, {"pdt", -420}});
  const auto found = std::ranges::find(kZones, word, &std::pair<std::string_view, int>::first);
  return found == kZones.end() ? std::nullopt : std::optional<Index>(found->second);
}

/// Reads an abbreviation of a zone, +01, +0100 or +01:00 if present; returns false for any other text before the end.
bool read_zone(DateCursor& in, Moment& moment) {
  in.skip_blanks();
  if (in.at_end()) return true;
  if (in.peek() == '+' || in.peek() == '-') {
    const bool west = in.peek() == '-';
    in.accept(in.peek());
    Index hours = 0, minutes = 0;
    if (in.digits_ahead() == 4) {
      in.number(4, 4, hours);
      minutes = hours % 100;
      hours /= 100;
    } else {
      if (!in.number(2, 2, hours)) return false;
      if (in.accept(':') && !in.number(2, 2, minutes)) return false;
    }
    if (hours > 14 || minutes > 59) return false;
    moment.zone = (west ? -1 : 1) * (hours * 60 + minutes);
    return true;
  }
  moment.zone = zone_of(in.word());
  return moment.zone.has_value();
}

/// Reads HH:MM[:SS[.fraction]] [AM|PM] [zone] up to the end.
bool read_clock(DateCursor& in, Moment& moment, bool minutes_required) {
  Index hour = 0, minute = 0, second = 0;
  if (!in.number(1, 2, hour)) return false;
  if (in.accept(':')) {
    if (!in.number(2, 2, minute)) return false;
    if (in.accept(':') && !in.number(2, 2, second)) return false;
    if ((in.peek() == '.' || in.peek() == ',') && in.accept(in.peek()) && !read_fraction(in, moment)) return false;
  } else if (minutes_required) {
    return false;
  }
  if (!read_half_of_day(in, hour) || !read_zone(in, moment) || !in.at_end()) return false;
  if (hour > 23 || minute > 59 || second > 60) return false;
  moment.has_time = true;
  moment.second = hour * 3600 + minute * 60 + std::min<Index>(second, 59);
  return true;
}

/// Reads the time after a date, if there is one, up to the end.
bool read_time_behind(DateCursor& in, Moment& moment) {
  if (in.at_end()) return true;
  if (in.accept('T') || in.accept('t')) return read_clock(in, moment, false);
  if (in.accept('Z')) {
    moment.zone = 0;
    return in.at_end();
  }
  in.accept(',');
  if (!in.accept(' ')) return false;
  in.skip_blanks();
  return read_clock(in, moment, true);
}

DateScan whole_date(DateScan::Shape shape, Index year, Index month, Index day) {
  DateScan scan;
  if (!is_valid_date(year, month, day)) return scan;
  scan.shape = shape;
  scan.moment.days = days_from_civil(year, month, day);
  return scan;
}

DateScan with_time(DateScan scan, DateCursor& in) {
  if (scan.shape == DateScan::Shape::none) return scan;
  if (!read_time_behind(in, scan.moment)) return {};
  Moment other = scan.moment;
  other.days = scan.month_first.days;
  scan.month_first = other;
  return scan;
}

DateScan with_end(DateScan scan, const DateCursor& in) { return in.at_end() ? scan : DateScan{}; }

DateScan scan_quarter(Index year, DateCursor& in) {
  Index quarter = 0;
  if (!in.number(1, 1, quarter) || quarter < 1 || quarter > 4) return {};
  return with_end(whole_date(DateScan::Shape::quarter, year, quarter * 3 - 2, 1), in);
}

DateScan scan_week(Index year, DateCursor& in) {
  Index week = 0;
  if (!in.number(1, 2, week) || week < 1 || week > 53) return {};
  DateScan scan = whole_date(DateScan::Shape::week, year, 1, 4);  // always in week 1, which begins on its Monday
  if (scan.shape == DateScan::Shape::none) return scan;
  const Index weekday = ((scan.moment.days + 3) % 7 + 7) % 7;
  scan.moment.days += (week - 1) * 7 - weekday;
  return with_end(scan, in);
}

DateScan scan_year_first(DateCursor& in) {
  Index year = 0, month = 0, day = 0;
  in.number(4, 4, year);
  const char separator = in.peek();
  if (separator == 'Q' || separator == 'q') {
    in.accept(separator);
    return scan_quarter(year, in);
  }
  if (separator != '-' && separator != '/' && separator != '.' && separator != ' ') return {};
  in.accept(separator);
  if (separator == '-' || separator == ' ') {
    if (in.accept_letter('q')) return scan_quarter(year, in);
    if (in.accept_letter('w')) return scan_week(year, in);
  }
  if (separator == ' ' || !in.number(1, 2, month)) return {};
  if (in.at_end() && separator != '.') return whole_date(DateScan::Shape::year_month, year, month, 1);
  if (!in.accept(separator) || !in.number(1, 2, day)) return {};
  DateScan scan = with_time(whole_date(DateScan::Shape::year_first, year, month, day), in);
  scan.separator = separator;
  return scan;
}

/// Reads 20140131T103000 and 20140131T1030, the basic format of ISO 8601.
DateScan scan_basic_format(DateCursor& in) {
  constexpr std::size_t kDateDigits = 8;
  Index date = 0, clock = 0;
  if (!in.number(kDateDigits, kDateDigits, date) || !in.accept('T')) return {};
  DateScan scan = whole_date(DateScan::Shape::year_first, date / 10000, date / 100 % 100, date % 100);
  const std::size_t digits = in.digits_ahead();
  if (scan.shape == DateScan::Shape::none || (digits != 4 && digits != 6)) return {};
  in.number(digits, digits, clock);
  if (digits == 4) clock *= 100;
  const Index hour = clock / 10000, minute = clock / 100 % 100, second = clock % 100;
  if (hour > 23 || minute > 59 || second > 59 || !read_zone(in, scan.moment)) return {};
  scan.moment.has_time = true;
  scan.moment.second = hour * 3600 + minute * 60 + second;
  return with_end(scan, in);
}

Index full_year(Index two_digits) { return two_digits + (two_digits < 69 ? 2000 : 1900); }

/// Reads the year after a day and a month: four digits, or two where they are allowed.
bool read_year(DateCursor& in, bool two_digits, Index& year) {
  if (in.number(4, 4, year)) return true;
  if (!two_digits || !in.number(2, 2, year)) return false;
  year = full_year(year);
  return true;
}

DateScan scan_day_and_name(Index day, DateCursor& in) {
  Index year = 0;
  const Index month = month_of(in.word());
  if (month == 0) return {};
  in.accept('.');
  const bool dash = in.accept('-');
  if (!dash && !in.accept(',')) in.accept('/');
  in.skip_blanks();
  if (!read_year(in, dash, year)) return {};
  return with_time(whole_date(DateScan::Shape::month_name, year, month, day), in);
}

DateScan scan_day_first(DateCursor& in) {
  Index first = 0, second = 0, year = 0;
  const std::size_t start = in.position();
  in.number(1, 2, first);
  const char separator = in.peek();
  if (separator == ':') {
    in.back_to(start);
    DateScan scan;
    scan.shape = DateScan::Shape::time_of_day;
    return read_clock(in, scan.moment, true) ? scan : DateScan{};
  }
  if (separator == '.' || separator == '/' || separator == '-' || separator == ' ') in.accept(separator);
  in.skip_blanks();
  if (is_date_letter(in.peek())) return scan_day_and_name(first, in);
  const std::size_t digits = in.position() - start;  // number of characters of the first number and the separator
  if (separator == ' ' || !in.number(1, 2, second) || !in.accept(separator)) return {};
  // 30.01.24 has two digits everywhere, so 1.2.10 is not a date.
  const bool points = separator == '.' && digits == 3 && in.position() - start == 6;
  if (!read_year(in, separator == '/' || points, year)) return {};
  const bool day_first = is_valid_date(year, second, first), month_first = is_valid_date(year, first, second);
  if (!day_first && !month_first) return {};
  DateScan scan;
  scan.shape = day_first && month_first ? DateScan::Shape::day_or_month_first
               : day_first              ? DateScan::Shape::day_first
                                        : DateScan::Shape::month_first;
  scan.moment.days = day_first ? days_from_civil(year, second, first) : days_from_civil(year, first, second);
  scan.month_first.days = month_first ? days_from_civil(year, first, second) : scan.moment.days;
  scan.separator = separator;
  return with_time(scan, in);
}

/// Returns whether a text begins like a month, a weekday or a quarter; most texts do not and are thus rejected quickly.
bool begins_with_name(std::string_view text) {
  if (lower_letter(text[0]) == 'q') return is_date_digit(text[1]);
  static constexpr std::string_view kBeginnings = "janfebmaraprmayjunjulaugsepoctnovdecmontuewedthufrisatsun";
  const char a = lower_letter(text[0]), b = lower_letter(text[1]), c = lower_letter(text[2]);
  for (std::size_t i = 0; i < kBeginnings.size(); i += 3) {
    if (kBeginnings[i] == a && kBeginnings[i + 1] == b && kBeginnings[i + 2] == c) return true;
  }
  return false;
}

DateScan scan_name_first(DateCursor& in) {
  Index year = 0, day = 0, quarter = 0;
  std::string word = in.word();
  if (word == "q") {
    if (!in.number(1, 1, quarter) || quarter < 1 || quarter > 4) return {};
    if (!in.accept(' ') && !in.accept('/')) in.accept('-');
    if (!in.number(4, 4, year)) return {};
    return with_end(whole_date(DateScan::Shape::quarter, year, quarter * 3 - 2, 1), in);
  }
  if (is_weekday(word) && month_of(word) == 0) {
    in.accept('.');
    in.accept(',');
    in.skip_blanks();
    if (is_date_digit(in.peek())) return in.digits_ahead() == 4 ? scan_year_first(in) : scan_day_first(in);
    word = in.word();
  }
  const Index month = month_of(word);
  if (month == 0) return {};
  in.accept('.');
  const bool dash = in.accept('-');
  if (!dash) in.skip_blanks();
  const bool apostrophe = in.accept('\'');  // Jan-24, Jan '24
  const std::size_t behind = in.position();
  if (read_year(in, dash || apostrophe, year) && in.at_end())
    return whole_date(DateScan::Shape::month_name, year, month, 1);
  in.back_to(behind);
  if (!in.number(1, 2, day)) return {};
  in.accept(',');
  if (!in.accept('-')) in.skip_blanks();
  if (!in.number(4, 4, year)) return {};
  return with_time(whole_date(DateScan::Shape::month_name, year, month, day), in);
}

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

std::string step_name(bool months, Index amount) {
  struct Named {
    bool months;
    Index amount;
    const char* name;
  };
  constexpr std::array<Named, 8> kNamed = {{{false, 1, "every second"},
                                            {false, 60, "every minute"},
                                            {false, 3600, "hourly"},
                                            {false, 86400, "daily"},
                                            {false, 604800, "weekly"},
                                            {true, 1, "monthly"},
                                            {true, 3, "quarterly"},
                                            {true, 12, "yearly"}}};
  for (const Named& named : kNamed) {
    if (named.months == months && named.amount == amount) return named.name;
  }
  if (months)
    return amount % 12 == 0 ? fmt::format("every {} years", amount / 12) : fmt::format("every {} months", amount);
  for (const auto& [length, name] :
       {std::pair<Index, const char*>{604800, "weeks"}, {86400, "days"}, {3600, "hours"}, {60, "minutes"}}) {
    if (amount % length == 0) return fmt::format("every {} {}", amount / length, name);
  }
  return fmt::format("every {} seconds", amount);
}

/// Three pairs of digits separated by two marks: 01-02-03.
struct ThreePairs {
  std::uint32_t first = 0, second = 0, third = 0;
};

/// Reads eight characters at `text` at once; false if they are not three pairs of digits between two marks.
[[gnu::always_inline]] inline bool read_pairs(const char* text, char mark, ThreePairs& pairs) {
  constexpr std::uint64_t kEachByte = 0x0101010101010101, kMarks = 0x0000FF0000FF0000, kZeros = '0' * kEachByte;
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * i;
  const std::uint64_t pattern = (kZeros & ~kMarks) | (static_cast<unsigned char>(mark) * kEachByte & kMarks);
  const std::uint64_t digits = word ^ pattern;  // 0 to 9 for digits, 0 for marks
  if ((digits & kMarks) != 0 || ((digits | (digits + 6 * kEachByte)) & 0xF0 * kEachByte) != 0) return false;
  const auto pair = [&](int byte) {
    return static_cast<std::uint32_t>(digits >> 8 * byte & 0xF) * 10 +
           static_cast<std::uint32_t>(digits >> 8 * (byte + 1) & 0xF);
  };
  pairs = {pair(0), pair(3), pair(6)};
  return true;
}

/// Equivalent to days_from_civil for years from 1 on.
[[gnu::always_inline]] inline Index days_of_date(std::uint32_t year, std::uint32_t month, std::uint32_t day) {
  if (month <= 2) --year;
  const std::uint32_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return static_cast<Index>(365 * year + year / 4 - year / 100 + year / 400 + day_of_year) - 719468;
}

/// Scans YYYY-MM-DD and YYYY-MM-DD HH:MM[:SS], the form of most dates; false for all other cells.
bool scan_usual_date(std::string_view text, DateScan& scan) {
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
    ThreePairs clock;
    std::array<char, 8> padded = {'0', '0', ':', '0', '0', ':', '0', '0'};
    std::copy(text.begin() + 11, text.end(), padded.begin());
    const bool marks = text[10] == ' ' || text[10] == 'T';
    if (!marks || !read_pairs(padded.data(), ':', clock)) return false;
    if (clock.first > 23 || clock.second > 59 || clock.third > 59) return false;
    second_of_day = Index{clock.first} * 3600 + Index{clock.second} * 60 + Index{clock.third};
  }
  scan.shape = DateScan::Shape::year_first;
  scan.separator = '-';
  scan.moment.days = days_of_date(year, date.second, date.third);
  scan.moment.has_time = scan.month_first.has_time = size > 10;
  scan.moment.second = scan.month_first.second = second_of_day;
  return true;
}

}  // namespace

const char* date_pattern(DateFormat format) { return kDatePatterns[static_cast<std::size_t>(format)]; }

std::optional<DateFormat> date_format_of(std::string_view pattern) {
  for (std::size_t i = 0; i < kDatePatterns.size(); ++i) {
    if (pattern == kDatePatterns[i]) return static_cast<DateFormat>(i);
  }
  return {};
}

// Howard Hinnant, "chrono-compatible low-level date algorithms": eras of 400 years that begin on March 1st.
Index days_from_civil(Index year, Index month, Index day) {
  year -= month <= 2 ? 1 : 0;
  const Index era = (year >= 0 ? year : year - 399) / 400;
  const Index year_of_era = year - era * 400;
  const Index day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

CivilDate civil_from_days(Index days) {
  days += 719468;
  const Index era = (days >= 0 ? days : days - 146096) / 146097;
  const Index day_of_era = days - era * 146097;
  const Index year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const Index day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const Index shifted = (5 * day_of_year + 2) / 153;
  const Index month = shifted + (shifted < 10 ? 3 : -9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day_of_year - (153 * shifted + 2) / 5 + 1};
}

bool is_valid_date(Index year, Index month, Index day) {
  return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(year, month);
}

DateScan scan_date(std::string_view text) {
  DateScan scan;
  if (text.size() < 4 || text.size() > kLongestDate || scan_usual_date(text, scan)) return scan;
  const bool letter = is_date_letter(text[0]);
  if (letter ? !begins_with_name(text) : !is_date_digit(text[0])) return scan;
  DateCursor in(text);
  const std::size_t digits = in.digits_ahead();
  if (letter)
    scan = scan_name_first(in);
  else if (digits == 1 || digits == 2)
    scan = scan_day_first(in);
  else if (digits == 4)
    scan = scan_year_first(in);
  else if (digits == 8)
    scan = scan_basic_format(in);
  return scan;
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
  const DateScan scan = scan_date(text);
  if (scan.shape == DateScan::Shape::none) return {};
  if (scan.shape == DateScan::Shape::day_or_month_first) {
    if (format == DateFormat::day_month_year) return scan.moment;
    if (format == DateFormat::month_day_year) return scan.month_first;
    return {};
  }
  if (format_of_shape(scan.shape) != format) return {};
  return scan.moment;
}

void StepTracker::count(bool months, Index amount) {
  for (Difference& difference : differences_) {
    if (difference.count > 0 && (difference.months != months || difference.amount != amount)) continue;
    difference.months = months;
    difference.amount = amount;
    ++difference.count;
    return;
  }
  ++others_;
}

void StepTracker::add(const Moment& moment) {
  const Index seconds = moment.epoch_seconds();
  const CivilDate civil = moment.days == days_ && dates_ > 0 ? civil_ : civil_from_days(moment.days);
  if (dates_ > 0) {
    const bool equal = seconds == seconds_ && moment.nanosecond == nanosecond_;
    const bool later = seconds > seconds_ || (seconds == seconds_ && moment.nanosecond > nanosecond_);
    if (equal) {
      ++equals_;
    } else if (!later) {
      ++descents_;
    } else {
      ++increases_;
      const Index months = (civil.year - civil_.year) * 12 + civil.month - civil_.month;
      const bool ends =
          civil.day == days_in_month(civil.year, civil.month) && civil_.day == days_in_month(civil_.year, civil_.month);
      if (months > 0 && moment.second == day_seconds_ && (civil.day == civil_.day || ends)) {
        count(true, months);
      } else {
        count(false, seconds - seconds_);
      }
    }
  }
  earliest_ = dates_ == 0 ? seconds : std::min(earliest_, seconds);
  latest_ = dates_ == 0 ? seconds : std::max(latest_, seconds);
  ++dates_;
  seconds_ = seconds;
  nanosecond_ = moment.nanosecond;
  day_seconds_ = moment.second;
  days_ = moment.days;
  civil_ = civil;
}

DateStep StepTracker::step() const {
  DateStep step;
  step.descents = descents_;
  step.earliest = earliest_;
  step.latest = latest_;
  if (dates_ < 2) return step;
  step.order = descents_ == 0    ? (increases_ > 0 ? DateStep::Order::ascending : DateStep::Order::none)
               : increases_ == 0 ? DateStep::Order::descending
                                 : DateStep::Order::unsorted;
  if (increases_ < 2) return step;
  const auto most = std::max_element(differences_.begin(), differences_.end(),
                                     [](const Difference& a, const Difference& b) { return a.count < b.count; });
  step.exceptions = increases_ - most->count;
  const auto share = [&](Index n) { return static_cast<double>(n) / static_cast<double>(increases_); };
  const auto days = [&](Index n) {
    const auto found = std::find_if(differences_.begin(), differences_.end(), [&](const Difference& d) {
      return d.count > 0 && !d.months && d.amount == n * 86400;
    });
    return found == differences_.end() ? Index{0} : found->count;
  };
  if (share(most->count) >= kRegularShare && (most->months || most->amount > 0)) {
    step.regular = true;
    step.months = most->months ? most->amount : 0;
    step.seconds = most->months ? 0 : most->amount;
    step.name = step_name(most->months, most->amount);
  } else if (days(3) > 0 && share(days(1)) >= 0.6 && share(days(1) + days(3)) >= kRegularShare) {
    step.regular = true;
    step.seconds = 86400;
    step.name = "working days";
    step.exceptions = increases_ - days(1) - days(3);
  }
  return step;
}

}  // namespace unfold
