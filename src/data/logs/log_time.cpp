#include "data/logs/log_time.h"

#include <algorithm>
#include <array>
#include <chrono>

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
    const auto found = std::ranges::find(kMonths, line_.substr(std::min(at_, line_.size()), 3));
    if (found == kMonths.end()) return false;
    value = static_cast<double>(found - kMonths.begin()) + 1;
    at_ += 3;
    return true;
  }
  bool ends() const { return at_ >= line_.size() || !is_time_digit(line_[at_]); }

 private:
  std::string_view line_;
  std::size_t at_;
};

/// Reads hh:mm:ss with a fraction; `.` may separate the parts.
bool clock_of(TimeCursor& in, double& seconds) {
  double hours = 0, minutes = 0, whole = 0, fraction = 0;
  if (!in.digits(2, 2, hours) || !in.any_of(":.") || !in.digits(2, 2, minutes) || !in.any_of(":.") ||
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

/// Reads a syslog time with the year at the end, or without a year.
std::optional<double> syslog_time(TimeCursor& in) {
  double year = 1970, month = 0, day = 0, seconds = 0;
  if (!in.month(month) || !in.blanks() || !in.digits(1, 2, day) || !in.blanks() || !clock_of(in, seconds))
    return std::nullopt;
  TimeCursor ahead = in;
  double written = 0;
  if (ahead.blanks() && ahead.digits(4, 4, written) && ahead.ends() && written >= 1970 && written < 2200) {
    year = written;
    in = ahead;
  }
  if (year == 1970 && month == 2 && day == 29) day = 28;  // February 29 of a leap year that the line does not state
  return joined_time(days_of(year, month, day), seconds, 0);
}

std::optional<double> klog_time(TimeCursor& in) {
  double month = 0, day = 0, seconds = 0;
  if (!in.any_of("IWEF") || !in.digits(2, 2, month) || !in.digits(2, 2, day) || !in.blanks() || !clock_of(in, seconds))
    return std::nullopt;
  return joined_time(days_of(1970, month, day), seconds, 0);
}

/// Reads yymmdd hhmmss.
std::optional<double> compact_time(TimeCursor& in) {
  double year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0;
  if (!in.digits(2, 2, year) || !in.digits(2, 2, month) || !in.digits(2, 2, day) || !in.any_of(" ") ||
      !in.digits(2, 2, hours) || !in.digits(2, 2, minutes) || !in.digits(2, 2, seconds) || !in.ends() || hours > 24 ||
      minutes > 59 || seconds > 61)
    return std::nullopt;
  return joined_time(days_of(2000 + year, month, day), 3600 * hours + 60 * minutes + seconds, 0);
}

std::optional<double> unix_time(TimeCursor& in) {
  const std::size_t begin = in.at();
  double seconds = 0, fraction = 0;
  if (!in.digits(10, 13, seconds) || !in.ends()) return std::nullopt;
  const std::size_t digits = in.at() - begin;
  if (digits == 13) seconds /= 1000;
  if ((digits != 10 && digits != 13) || seconds < 1e9 || seconds > 4e9) return std::nullopt;
  TimeCursor ahead = in;
  if (ahead.any_of(".") && ahead.digits(1, 9, fraction)) in = ahead;
  return seconds;
}

std::optional<double> day_time(TimeCursor& in) {
  double seconds = 0;
  return clock_of(in, seconds) && in.ends() ? std::optional(seconds) : std::nullopt;
}

constexpr std::array<TimeFormat, 7> kTimeFormats = {iso_time,     apache_time, syslog_time, klog_time,
                                                    compact_time, unix_time,   day_time};

}  // namespace

std::optional<LogTime> log_time(std::string_view line) {
  const std::string_view head = line.substr(0, kSearchedBytes);
  for (std::size_t at = 0; at < head.size(); ++at) {
    const char c = head[at];
    if (at > 0 && (is_time_digit(head[at - 1]) || (head[at - 1] >= 'A' && head[at - 1] <= 'Z'))) continue;
    if (!is_time_digit(c) && !(c >= 'A' && c <= 'W')) continue;
    for (const TimeFormat format : kTimeFormats) {
      TimeCursor in(line, at);
      if (const std::optional<double> seconds = format(in)) return LogTime{*seconds, line.substr(at, in.at() - at)};
    }
  }
  return std::nullopt;
}

}  // namespace unfold
