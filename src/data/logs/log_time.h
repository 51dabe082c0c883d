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
/// UTC, so only differences between the times of one log are meaningful.
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

struct LogTime {
  double seconds = 0;
  std::string_view text = {};  ///< the time as written in the line
};

/// Returns the first time among the first 200 bytes of a line.
std::optional<LogTime> log_time(std::string_view line, LogDateOrder order = LogDateOrder::day_month_year);

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
