#include "data/logs/log_time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <tuple>

namespace unfold {
namespace {

constexpr std::size_t kSearchedBytes = 200;
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool is_time_digit(char c) { return c >= '0' && c <= '9'; }

/// A position in a line at which parts of a time are read.
class TimeCursor {
 public:
  TimeCursor(std::string_view line, std::size_t at) : line_(line), at_(at) {}
  std::size_t at() const { return at_; }

  /// Reads from `least` to `most` digits.
  bool digits(std::size_t least, std::size_t most, double& value) {
    std::size_t end = at_;
    value = 0;
    for (; end < line_.size() && end - at_ < most && is_time_digit(line_[end]); ++end)
      value = 10 * value + (line_[end] - '0');
    if (end - at_ < least) return false;
    at_ = end;
    return true;
  }
  bool any_of(std::string_view choices) {
    if (at_ >= line_.size() || choices.find(line_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  bool blanks() {
    const std::size_t begin = at_;
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
    return at_ > begin;
  }
  bool month(double& value) {
    const std::string_view name = line_.substr(std::min(at_, line_.size()), 3);
    const auto equals = [](char a, char b) { return a == b || (b >= 'a' && a == b - 'a' + 'A'); };
    const auto found =
        std::ranges::find_if(kMonths, [&](std::string_view month) { return std::ranges::equal(name, month, equals); });
    if (found == kMonths.end()) return false;
    value = static_cast<double>(found - kMonths.begin()) + 1;
    at_ += 3;
    return true;
  }
  bool ends() const { return at_ >= line_.size() || !is_time_digit(line_[at_]); }
  char next() const { return at_ < line_.size() ? line_[at_] : '\0'; }

 private:
  std::string_view line_;
  std::size_t at_;
};

/// Reads hh:mm:ss with a fraction; `.` may separate the parts.
bool clock_of(TimeCursor& in, double& seconds, std::size_t least_hour_digits = 2) {
  double hours = 0, minutes = 0, whole = 0, fraction = 0;
  if (!in.digits(least_hour_digits, 2, hours) || !in.any_of(":.") || !in.digits(2, 2, minutes) || !in.any_of(":.") ||
      !in.digits(2, 2, whole) || hours > 24 || minutes > 59 || whole > 61)
    return false;
  seconds = 3600 * hours + 60 * minutes + whole;
  TimeCursor ahead = in;
  if (ahead.any_of(".,")) {
    const std::size_t begin = ahead.at();
    if (ahead.digits(1, 9, fraction)) {
      double scale = 1;
      for (std::size_t i = begin; i < ahead.at(); ++i) scale *= 10;
      seconds += fraction / scale;
      in = ahead;
    }
  }
  return true;
}

/// Reads the time of day after a date: ` 9:05:07.123 PM`, `T09:05:07`, `:09:05:07`. `half_day`: is set if it has AM or
/// PM.
bool clock_after_date(TimeCursor& in, double& seconds, bool* half_day = nullptr) {
  if (!in.any_of("T:-")) {
    in.any_of(",");
    if (!in.blanks()) return false;
  }
  if (!clock_of(in, seconds, 1)) return false;
  TimeCursor ahead = in;
  ahead.blanks();
  const bool morning = ahead.any_of("Aa"), evening = !morning && ahead.any_of("Pp");
  const double hours = std::floor(seconds / 3600);
  if ((!morning && !evening) || !ahead.any_of("Mm") || hours < 1 || hours > 12) return true;
  seconds += (hours == 12 ? -12 : 0) * 3600.0 + (evening ? 12 : 0) * 3600.0;
  if (half_day != nullptr) *half_day = true;
  in = ahead;
  return true;
}

/// Reads +hh:mm or +hhmm and returns the seconds to subtract.
double zone_of(TimeCursor& in) {
  TimeCursor ahead = in;
  ahead.blanks();
  const TimeCursor sign = ahead;
  double hours = 0, minutes = 0;
  if (!ahead.any_of("+-") || !ahead.digits(2, 2, hours)) return 0;
  ahead.any_of(":");
  if (!ahead.digits(2, 2, minutes) || !ahead.ends()) return 0;
  TimeCursor plus = sign;
  const bool positive = plus.any_of("+");
  in = ahead;
  return (positive ? 1 : -1) * (3600 * hours + 60 * minutes);
}

std::optional<double> days_of(double year, double month, double day) {
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::optional<double> joined_time(std::optional<double> days, double seconds, double zone) {
  if (!days) return std::nullopt;
  return *days * 86400 + seconds - zone;
}

using TimeFormat = std::optional<double> (*)(TimeCursor& in);

std::optional<double> iso_time(TimeCursor& in) {
  double year = 0, month = 0, day = 0, seconds = 0;
  if (!in.digits(4, 4, year) || !in.any_of("-./") || !in.digits(2, 2, month) || !in.any_of("-./") ||
      !in.digits(2, 2, day) || !in.any_of("-T ") || !clock_of(in, seconds))
    return std::nullopt;
  return joined_time(days_of(year, month, day), seconds, in.any_of("Z") ? 0 : zone_of(in));
}

std::optional<double> apache_time(TimeCursor& in) {
  double year = 0, month = 0, day = 0, seconds = 0;
  if (!in.digits(1, 2, day) || !in.any_of("/") || !in.month(month) || !in.any_of("/") || !in.digits(4, 4, year) ||
      !in.any_of(":") || !clock_of(in, seconds))
    return std::nullopt;
  return joined_time(days_of(year, month, day), seconds, zone_of(in));
}

/// Reads a syslog time, `Mar 01, 2026 9:05:07 PM`, or one with the year at the end.
std::optional<double> syslog_time(TimeCursor& in) {
  constexpr double kFirstYear = 1970, kLastYear = 2199;
  double year = kFirstYear, month = 0, day = 0, seconds = 0, written = 0;
  if (!in.month(month) || !in.blanks() || !in.digits(1, 2, day)) return std::nullopt;
  const auto is_year = [&] { return written >= kFirstYear && written <= kLastYear; };
  TimeCursor ahead = in;
  ahead.any_of(",");
  if (ahead.blanks() && ahead.digits(4, 4, written) && ahead.ends() && is_year()) {
    year = written;
    in = ahead;
    if (!clock_after_date(in, seconds)) return std::nullopt;
    return joined_time(days_of(year, month, day), seconds, zone_of(in));
  }
  if (!in.blanks() || !clock_of(in, seconds)) return std::nullopt;
  ahead = in;
  if (ahead.blanks() && ahead.digits(4, 4, written) && ahead.ends() && is_year()) {
    year = written;
    in = ahead;
  }
  if (year == kFirstYear && month == 2 && day == 29) day = 28;  // a leap year that the line does not state
  return joined_time(days_of(year, month, day), seconds, 0);
}

/// Reads a date with the name of the month: `01-Mar-2026`, `1 Mar 26` or `2026-Mar-01`.
std::optional<double> named_month_time(TimeCursor& in) {
  double first = 0, month = 0, last = 0, seconds = 0;
  const std::size_t begin = in.at();
  if (!in.digits(1, 4, first)) return std::nullopt;
  const std::size_t first_digits = in.at() - begin;
  if (!in.any_of("-/. ") || !in.month(month) || !in.any_of("-/. ")) return std::nullopt;
  in.any_of(" ");
  const std::size_t middle = in.at();
  if (!in.digits(1, 4, last)) return std::nullopt;
  const std::size_t last_digits = in.at() - middle;
  const bool year_first = first_digits == 4;
  if (year_first ? last_digits > 2 : first_digits > 2 || (last_digits != 2 && last_digits != 4)) return std::nullopt;
  if (!clock_after_date(in, seconds)) return std::nullopt;
  const double year = year_first ? first : last_digits == 2 ? 2000 + last : last;
  return joined_time(days_of(year, month, year_first ? last : first), seconds, zone_of(in));
}

/// A numeric date that does not begin with a year of four digits, and its time of day.
struct NumericDate {
  std::array<double, 3> parts = {};
  bool short_year = false;  // two digits
  bool half_day = false;    // AM or PM
  double seconds = 0;       // since midnight UTC

  /// Returns no value if the date is invalid in this order.
  std::optional<double> time(LogDateOrder order) const {
    constexpr double kCentury = 2000;
    if (!short_year && order == LogDateOrder::year_month_day) return std::nullopt;
    const double base = short_year ? kCentury : 0;
    const auto [a, b, c] = parts;
    const std::optional<double> days = order == LogDateOrder::day_month_year   ? days_of(base + c, b, a)
                                       : order == LogDateOrder::month_day_year ? days_of(base + c, a, b)
                                                                               : days_of(base + a, b, c);
    return joined_time(days, seconds, 0);
  }
};

std::optional<NumericDate> numeric_date(TimeCursor& in) {
  NumericDate date;
  if (!in.digits(1, 2, date.parts[0])) return std::nullopt;
  const char separator = in.next();
  const std::string_view same(&separator, 1);
  if (!in.any_of("./-") || !in.digits(1, 2, date.parts[1]) || !in.any_of(same)) return std::nullopt;
  const std::size_t begin = in.at();
  if (!in.digits(2, 4, date.parts[2]) || !in.ends()) return std::nullopt;
  const std::size_t year_digits = in.at() - begin;
  date.short_year = year_digits == 2;
  if (year_digits == 3 || !clock_after_date(in, date.seconds, &date.half_day)) return std::nullopt;
  date.seconds -= zone_of(in);
  return date;
}

std::optional<double> numeric_time(TimeCursor& in, LogDateOrder order) {
  const std::optional<NumericDate> date = numeric_date(in);
  if (!date) return std::nullopt;
  std::optional<double> time = date->time(order);
  for (std::size_t other = 0; !time && other < kLogDateOrders.size(); ++other)
    time = date->time(static_cast<LogDateOrder>(other));
  return time;
}

std::optional<double> klog_time(TimeCursor& in) {
  double month = 0, day = 0, seconds = 0;
  if (!in.any_of("IWEF") || !in.digits(2, 2, month) || !in.digits(2, 2, day) || !in.blanks() || !clock_of(in, seconds))
    return std::nullopt;
  return joined_time(days_of(1970, month, day), seconds, 0);
}

/// Reads hhmmss.
bool joined_clock_of(TimeCursor& in, double& seconds) {
  double hours = 0, minutes = 0, whole = 0;
  if (!in.digits(2, 2, hours) || !in.digits(2, 2, minutes) || !in.digits(2, 2, whole) || !in.ends() || hours > 24 ||
      minutes > 59 || whole > 61)
    return false;
  seconds = 3600 * hours + 60 * minutes + whole;
  return true;
}

/// Reads yymmdd hhmmss and, at the beginning of a line, yymmdd h:mm:ss.
std::optional<double> compact_time(TimeCursor& in) {
  double year = 0, month = 0, day = 0, seconds = 0;
  const bool first = in.at() == 0;
  if (!in.digits(2, 2, year) || !in.digits(2, 2, month) || !in.digits(2, 2, day) || !in.ends()) return std::nullopt;
  TimeCursor joined = in;
  if (joined.any_of(" ") && joined_clock_of(joined, seconds)) {
    in = joined;
  } else if (!first || in.next() != ' ' || !clock_after_date(in, seconds)) {
    return std::nullopt;
  }
  return joined_time(days_of(2000 + year, month, day), seconds, 0);
}

/// Reads yyyymmdd-hh:mm:ss or yyyymmdd hhmmss.
std::optional<double> compact_long_time(TimeCursor& in) {
  double year = 0, month = 0, day = 0, seconds = 0;
  if (!in.digits(4, 4, year) || !in.digits(2, 2, month) || !in.digits(2, 2, day) || year < 1900 || year > 2099 ||
      !in.any_of("-T "))
    return std::nullopt;
  TimeCursor joined = in;
  if (joined_clock_of(joined, seconds))
    in = joined;
  else if (!clock_of(in, seconds))
    return std::nullopt;
  return joined_time(days_of(year, month, day), seconds, in.any_of("Z") ? 0 : zone_of(in));
}

std::optional<double> unix_time(TimeCursor& in) {
  const std::size_t begin = in.at();
  double seconds = 0, fraction = 0;
  if (!in.digits(10, 13, seconds) || !in.ends()) return std::nullopt;
  const std::size_t digits = in.at() - begin;
  if (digits == 13) seconds /= 1000;
  if ((digits != 10 && digits != 13) || seconds < 1e9 || seconds > 4e9) return std::nullopt;
  TimeCursor ahead = in;
  if (ahead.any_of(".")) {
    const std::size_t point = ahead.at();
    if (ahead.digits(1, 9, fraction)) {
      if (digits == 10) seconds += fraction / std::pow(10.0, static_cast<double>(ahead.at() - point));
      in = ahead;
    }
  }
  return seconds;
}

std::optional<double> day_time(TimeCursor& in) {
  double seconds = 0;
  return clock_of(in, seconds) && in.ends() ? std::optional(seconds) : std::nullopt;
}

/// Returns what a time does not state that was read by a format.
LogTimeGap gap_of(TimeFormat format, double seconds) {
  constexpr double kFirstYear = 365 * 86400.0;
  if (format == day_time) return LogTimeGap::date;
  if (format == klog_time || (format == syslog_time && seconds < kFirstYear)) return LogTimeGap::year;
  return LogTimeGap::none;
}

/// Returns the seconds of a time of 1970 in the year nearest to another time.
double in_nearest_year(const LogTime& time, double near) {
  namespace chrono = std::chrono;
  constexpr double kDay = 86400;
  const auto day_of = [](double seconds) {
    return chrono::sys_days(chrono::days(static_cast<int>(std::floor(seconds / kDay))));
  };
  const chrono::year_month_day date(day_of(time.seconds));
  const double clock = time.seconds - kDay * std::floor(time.seconds / kDay);
  const int year = static_cast<int>(chrono::year_month_day(day_of(near)).year());
  double nearest = time.seconds;
  for (const int candidate : {year - 1, year, year + 1}) {
    const bool next_day = time.leap_day && chrono::year(candidate).is_leap();
    const chrono::sys_days days =
        chrono::sys_days(chrono::year(candidate) / date.month() / date.day()) + chrono::days(next_day ? 1 : 0);
    const double seconds = kDay * static_cast<double>(days.time_since_epoch().count()) + clock;
    if (std::fabs(seconds - near) < std::fabs(nearest - near)) nearest = seconds;
  }
  return nearest;
}

/// Returns whether a time without a year, such as `Feb 29 00:00:02`, is on a leap day.
bool is_leap_day(std::string_view time) {
  double month = 0, day = 0;
  TimeCursor in(time, 0);
  return in.month(month) && in.blanks() && in.digits(1, 2, day) && month == 2 && day == 29;
}

constexpr std::array<TimeFormat, 9> kTimeFormats = {iso_time,          apache_time, named_month_time,
                                                    syslog_time,       klog_time,   compact_time,
                                                    compact_long_time, unix_time,   day_time};

/// Returns whether a time may begin at a position.
bool may_begin_time(std::string_view line, std::size_t at) {
  const char c = line[at];
  if (at > 0 && (is_time_digit(line[at - 1]) || (line[at - 1] >= 'A' && line[at - 1] <= 'Z'))) return false;
  return is_time_digit(c) || (c >= 'A' && c <= 'W');
}

}  // namespace

std::optional<LogTime> log_time(std::string_view line, LogDateOrder order) {
  const std::size_t size = std::min(line.size(), kSearchedBytes);
  for (std::size_t at = 0; at < size; ++at) {
    if (!may_begin_time(line, at)) continue;
    const auto found = [&](double seconds, const TimeCursor& in) {
      return LogTime{.seconds = seconds, .text = line.substr(at, in.at() - at)};
    };
    TimeCursor numeric(line, at);
    if (const std::optional<double> seconds = numeric_time(numeric, order)) return found(*seconds, numeric);
    for (const TimeFormat format : kTimeFormats) {
      TimeCursor in(line, at);
      const std::optional<double> seconds = format(in);
      if (!seconds) continue;
      LogTime time = found(*seconds, in);
      time.gap = gap_of(format, *seconds);
      time.leap_day = time.gap == LogTimeGap::year && is_leap_day(time.text);
      return time;
    }
  }
  return std::nullopt;
}

std::optional<LogTime> LogClock::read(std::string_view line) {
  constexpr double kDay = 86400;
  std::optional<LogTime> time = log_time(line, order_);
  if (!time || (time->gap != LogTimeGap::none && !now_)) return time;
  if (time->gap == LogTimeGap::date) time->seconds += kDay * std::round((*now_ - time->seconds) / kDay);
  if (time->gap == LogTimeGap::year) time->seconds = in_nearest_year(*time, *now_);
  now_ = time->seconds;
  return time;
}

void LogDateOrders::add(std::string_view line) {
  constexpr Index kLinesWithoutDates = 1000, kMostDates = 100000;
  if (dates_ >= kMostDates || (dates_ == 0 && lines_ >= kLinesWithoutDates)) return;
  ++lines_;
  const std::size_t size = std::min(line.size(), kSearchedBytes);
  for (std::size_t at = 0; at < size; ++at) {
    if (!is_time_digit(line[at]) || !may_begin_time(line, at)) continue;
    TimeCursor in(line, at);
    const std::optional<NumericDate> date = numeric_date(in);
    if (!date) continue;
    if (dates_++ == 0) example_ = line.substr(at, in.at() - at);
    short_years_ += date->short_year;
    half_days_ += date->half_day;
    for (std::size_t order = 0; order < counts_.size(); ++order) {
      Count& count = counts_[order];
      const std::optional<double> time = date->time(static_cast<LogDateOrder>(order));
      count.invalid += !time;
      if (!time) continue;
      count.descents += count.last && *time < *count.last;
      if (count.last) count.covered += std::fabs(*time - *count.last);
      count.last = time;
    }
    return;
  }
}

std::optional<LogDateOrder> LogDateOrders::most_likely() const {
  if (dates_ == 0) return std::nullopt;
  // The preferred orders if nothing else decides, as for a log of a single day.
  std::array<LogDateOrder, 3> orders = {LogDateOrder::day_month_year, LogDateOrder::month_day_year,
                                        LogDateOrder::year_month_day};
  if (2 * half_days_ > dates_) std::swap(orders[0], orders[1]);
  if (2 * short_years_ > dates_ && 2 * half_days_ <= dates_)
    std::rotate(orders.begin(), orders.end() - 1, orders.end());
  return *std::ranges::min_element(orders, {}, [&](LogDateOrder order) {
    const Count& count = counts_[static_cast<std::size_t>(order)];
    return std::tuple(count.invalid, count.descents, count.covered);
  });
}

}  // namespace unfold
