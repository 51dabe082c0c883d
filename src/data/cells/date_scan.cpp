#include "data/cells/date_scan.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "data/cells/civil_date.h"
#include "data/cells/date_names.h"

namespace unfold {
namespace {

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_date_letter(char c) { return lower_letter(c) >= 'a' && lower_letter(c) <= 'z'; }

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
  /// Reads a word of letters in lower case; À to ÿ are letters.
  std::string word() {
    const std::size_t start = position_;
    for (;;) {
      if (is_date_letter(peek()))
        ++position_;
      else if (peek() == '\xC3' && position_ + 1 < text_.size())
        position_ += 2;
      else
        return lower_date_word(text_.substr(start, position_ - start));
    }
  }
  std::size_t position() const { return position_; }
  void back_to(std::size_t position) { position_ = position; }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

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

DateScan week_date(Index year, Index week) {
  if (week < 1 || week > 53) return {};
  DateScan scan = whole_date(DateScan::Shape::week, year, 1, 4);  // always in week 1, which begins on its Monday
  if (scan.shape == DateScan::Shape::none) return scan;
  const Index weekday = ((scan.moment.days + 3) % 7 + 7) % 7;
  scan.moment.days += (week - 1) * 7 - weekday;
  return scan;
}

DateScan scan_week(Index year, DateCursor& in) {
  Index week = 0;
  return in.number(1, 2, week) ? with_end(week_date(year, week), in) : DateScan{};
}

bool is_week_word(std::string_view word) {
  static constexpr auto kWords = std::to_array<std::string_view>({"w", "kw", "cw", "wk", "week", "woche"});
  return std::ranges::find(kWords, word) != kWords.end();
}

/// Returns whether a year of four digits next to a number is one, rather than a second number.
bool is_recent_year(Index year) { return year >= 1800 && year < 2200; }

/// Reads the quarter, week or month after a year: 2024Q1, 2024-KW05, 2024M05, 2024 May, 2024-May-31.
DateScan scan_year_and_word(Index year, DateCursor& in) {
  const std::string word = in.word();
  if (word == "q") return scan_quarter(year, in);
  Index day = 1, month = 0;
  if (word == "m") {
    const bool numbers = in.number(2, 2, month) && is_recent_year(year);
    return numbers ? with_end(whole_date(DateScan::Shape::year_month, year, month, 1), in) : DateScan{};
  }
  if (is_week_word(word)) {
    in.skip_blanks();
    return scan_week(year, in);
  }
  month = month_of_name(word);
  if (month == 0) return {};
  in.accept('.');
  if (in.at_end()) return whole_date(DateScan::Shape::month_name, year, month, 1);
  if (!in.accept('-')) in.skip_blanks();
  if (!in.number(1, 2, day)) return {};
  return with_time(whole_date(DateScan::Shape::month_name, year, month, day), in);
}

DateScan scan_year_first(DateCursor& in) {
  Index year = 0, month = 0, day = 0;
  in.number(4, 4, year);
  const char separator = in.peek();
  if (is_date_letter(separator)) return scan_year_and_word(year, in);
  if (separator != '-' && separator != '/' && separator != '.' && separator != ' ') return {};
  in.accept(separator);
  if (separator == ' ') in.skip_blanks();
  if (separator != '.' && is_date_letter(in.peek())) return scan_year_and_word(year, in);
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

/// Reads the year after a quarter: Q1 2024, Q1/24, 1Q24, Q1 FY24. `two_digits`: 24 is a year even after no mark.
DateScan scan_year_of_quarter(Index quarter, bool two_digits, DateCursor& in) {
  Index year = 0;
  if (in.accept('/') || in.accept('-'))
    two_digits = true;
  else
    in.skip_blanks();
  if (in.accept_letter('f')) {
    if (!in.accept_letter('y')) return {};
    two_digits = true;
  } else if (in.accept('\'')) {
    two_digits = true;
  }
  if (quarter < 1 || quarter > 4 || !read_year(in, two_digits, year)) return {};
  return with_end(whole_date(DateScan::Shape::quarter, year, quarter * 3 - 2, 1), in);
}

/// Reads the year and the quarter after FY: FY2024 Q1, FY24-Q1.
DateScan scan_fiscal_year(DateCursor& in) {
  Index year = 0;
  in.skip_blanks();
  if (!read_year(in, true, year)) return {};
  if (!in.accept('-') && !in.accept('/')) in.skip_blanks();
  return in.accept_letter('q') ? scan_quarter(year, in) : DateScan{};
}

/// Reads the week and the year after a word: KW 05/2024, W5-2024, Week 5 2024, KW05/24.
DateScan scan_week_and_year(DateCursor& in) {
  Index year = 0, week = 0;
  in.skip_blanks();
  if (!in.number(1, 2, week)) return {};
  const bool mark = in.accept('/') || in.accept('-');
  if (!mark) in.skip_blanks();
  return read_year(in, mark, year) ? with_end(week_date(year, week), in) : DateScan{};
}

/// Skips "de" between the parts of a Spanish date: 1 de enero de 2024.
void skip_preposition(DateCursor& in) {
  const std::size_t start = in.position();
  in.skip_blanks();
  if (in.word() == "de")
    in.skip_blanks();
  else
    in.back_to(start);
}

DateScan scan_day_and_name(Index day, DateCursor& in) {
  Index year = 0;
  skip_preposition(in);
  std::string word = in.word();
  if (day == 1 && word == "er") {  // 1er janvier
    in.skip_blanks();
    word = in.word();
  }
  const Index month = month_of_name(word);
  if (month == 0) return {};
  in.accept('.');
  skip_preposition(in);
  const bool dash = in.accept('-');
  if (!dash && !in.accept(',')) in.accept('/');
  in.skip_blanks();
  if (!read_year(in, dash, year)) return {};
  return with_time(whole_date(DateScan::Shape::month_name, year, month, day), in);
}

/// Reads the year after a month: 01/2024, 01-2024.
DateScan scan_year_of_month(Index month, char separator, DateCursor& in) {
  Index year = 0;
  if (!in.number(4, 4, year) || !is_recent_year(year)) return {};
  DateScan scan = whole_date(DateScan::Shape::year_month, year, month, 1);
  scan.separator = separator;
  return with_end(scan, in);
}

DateScan date_of_numbers(Index first, Index second, Index year, char separator) {
  const bool day_first = is_valid_date(year, second, first), month_first = is_valid_date(year, first, second);
  if (!day_first && !month_first) return {};
  DateScan scan;
  scan.shape = day_first && month_first ? DateScan::Shape::day_or_month_first
               : day_first              ? DateScan::Shape::day_first
                                        : DateScan::Shape::month_first;
  scan.moment.days = day_first ? days_from_civil(year, second, first) : days_from_civil(year, first, second);
  scan.month_first.days = month_first ? days_from_civil(year, first, second) : scan.moment.days;
  scan.separator = separator;
  return scan;
}

/// `short_points`: dates such as 4.9.23 and 09.2023 are read.
DateScan scan_day_first(DateCursor& in, bool short_points = false) {
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
  if (in.accept_letter('q')) return scan_year_of_quarter(first, true, in);
  if (separator == '.' || separator == '/' || separator == '-' || separator == ' ') in.accept(separator);
  const std::size_t behind = in.position();
  in.skip_blanks();
  if (is_date_letter(in.peek())) return scan_day_and_name(first, in);
  const std::size_t digits = in.position() - start;  // number of characters of the first number and the separator
  const bool month_first =
      separator == '/' || (digits == 3 && (separator == '-' || (separator == '.' && short_points)));
  if (month_first && in.position() == behind && in.digits_ahead() == 4) return scan_year_of_month(first, separator, in);
  if (separator == ' ' || !in.number(1, 2, second) || !in.accept(separator)) return {};
  // 30.01.24 has two digits everywhere; 1.2.10 may be a version.
  const bool points = separator == '.' && (short_points || (digits == 3 && in.position() - start == 6));
  if (!read_year(in, separator == '/' || points, year)) return {};
  return with_time(date_of_numbers(first, second, year, separator), in);
}

/// Returns whether a text begins like a month, a weekday, a quarter, a week or a fiscal year; most texts do not and are
/// thus rejected quickly. All dates have a digit.
bool begins_with_name(std::string_view text) {
  const char first = lower_letter(text[0]), second = lower_letter(text[1]);
  if (first == 'q') return is_date_digit(second);
  const bool week = (first == 'w' && (is_date_digit(second) || second == ' ' || second == 'k' || second == 'o')) ||
                    (second == 'w' && (first == 'k' || first == 'c'));
  if (week || (first == 'f' && second == 'y')) return std::ranges::any_of(text, is_date_digit);
  return may_begin_date_name(text[0], text[1]) && std::ranges::any_of(text, is_date_digit);
}

DateScan scan_name_first(DateCursor& in) {
  Index year = 0, day = 0, quarter = 0;
  std::string word = in.word();
  if (word == "q") {
    return in.number(1, 1, quarter) ? scan_year_of_quarter(quarter, false, in) : DateScan{};
  }
  if (word == "fy") return scan_fiscal_year(in);
  if (is_week_word(word)) return scan_week_and_year(in);
  if (is_weekday_name(word)) {
    const std::size_t behind_word = in.position();
    in.accept('.');
    in.accept(',');
    in.skip_blanks();
    const bool month = month_of_name(word) > 0;  // "mar" is a month, too
    if (is_date_digit(in.peek())) {
      const DateScan scan = in.digits_ahead() == 4 ? scan_year_first(in) : scan_day_first(in);
      const bool date = scan.shape != DateScan::Shape::none && scan.shape != DateScan::Shape::time_of_day;
      if (date || !month) return scan;
    }
    if (month)
      in.back_to(behind_word);
    else
      word = in.word();
  }
  const Index month = month_of_name(word);
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

}  // namespace

DateScan scan_short_date(std::string_view text) {
  DateCursor in(text);
  const std::size_t digits = in.digits_ahead();
  if (digits != 1 && digits != 2) return {};
  const DateScan scan = scan_day_first(in, /*short_points=*/true);
  return scan.separator == '.' ? scan : DateScan{};
}

DateScan scan_written_date(std::string_view text) {
  const bool letter = is_date_letter(text[0]);
  if (letter ? !begins_with_name(text) : !is_date_digit(text[0])) return {};
  DateScan scan;
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

}  // namespace unfold
