#pragma once
/// Reads the time of a log line.
///
///   std::optional<double> seconds = log_time("[01/Mar/2026:00:00:02 +0000]");   // since 1970-01-01 UTC
///
/// Formats: ISO 8601 and its variants with `.` or a blank, syslog (`Mar  1 00:00:02`, without a year), Apache
/// (`01/Mar/2026:00:00:02 +0000`), `Sun Dec 04 04:47:44 2005`, klog (`I0301 00:00:02.123`), `081109 203615`, `20260301
/// 000002`, seconds or milliseconds since 1970, and times of day; dates with the name of the month in any order
/// (`01-Mar-2026`, `2026-Mar-01`, `Mar 01, 2026`), and numeric ones that do not begin with a year of four digits
/// (`01.03.2026`, `03/01/2026 12:00:02 AM`, `26/03/01`). A time without a year is in 1970, and one without a zone in
/// UTC, so only differences between the times of one log are meaningful. In a log that mixes times with and without a
/// year or a date, `LogClock` places the latter near the others:
///
///   LogClock clock(order);
///   for (std::string_view line : lines) use(clock.read(line));
///
/// The order of day, month and year in numeric dates is a property of the log (`LogDateOrders`). A date that is invalid
/// in this order is read in a different one.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

enum class LogDateOrder { day_month_year, month_day_year, year_month_day };
inline constexpr std::array<const char*, 3> kLogDateOrders = {"day/month/year", "month/day/year", "year/month/day"};

/// The part of a time that the line does not state.
enum class LogTimeGap { none, year, date };

struct LogTime {
  double seconds = 0;
  std::string_view text = {};  ///< the time as written in the line
  LogTimeGap gap = LogTimeGap::none;
  bool leap_day = false;  ///< February 29 without a year, which is read as February 28
};

/// Returns the first time among the first 200 bytes of a line.
std::optional<LogTime> log_time(std::string_view line, LogDateOrder order = LogDateOrder::day_month_year);

/// The times of the lines of a log, in order. A time without a year or a date is the one nearest to the time before it,
/// as soon as a complete time has been read. A log without complete times keeps the times of `log_time`.
class LogClock {
 public:
  LogClock() = default;
  /// `now`: a complete time near the beginning of the log.
  explicit LogClock(LogDateOrder order, std::optional<double> now = {}) : order_(order), now_(now) {}
  std::optional<LogTime> read(std::string_view line);
  LogDateOrder order() const { return order_; }
  /// The last time; no value before the first complete one.
  const std::optional<double>& now() const { return now_; }

 private:
  LogDateOrder order_ = LogDateOrder::day_month_year;
  std::optional<double> now_ = {};
};

/// Finds the order of numeric dates in a log: the one in which the fewest dates are invalid. If several orders have
/// equally many, the one in which the fewest times precede the time before them applies, and then the one in which the
/// log covers the shortest time.
class LogDateOrders {
 public:
  void add(std::string_view line);
  /// Returns no value for a log without such dates.
  std::optional<LogDateOrder> most_likely() const;
  const std::string& example() const { return example_; }  ///< the first numeric date and time

 private:
  struct Count {
    Index invalid = 0, descents = 0;
    double covered = 0;
    std::optional<double> last = {};
  };
  std::array<Count, kLogDateOrders.size()> counts_ = {};
  Index lines_ = 0, dates_ = 0, short_years_ = 0, half_days_ = 0;
  std::string example_;
};

}  // namespace unfold
