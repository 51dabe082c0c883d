#pragma once
/// Reads the time of a log line.
///
///   std::optional<double> seconds = log_time("[01/Mar/2026:00:00:02 +0000]");   // since 1970-01-01 UTC
///
/// Formats: ISO 8601 and its variants with `.` or a blank, syslog (`Mar  1 00:00:02`, without a year), Apache
/// (`01/Mar/2026:00:00:02 +0000`), `Sun Dec 04 04:47:44 2005`, klog (`I0301 00:00:02.123`), `081109 203615`, seconds or
/// milliseconds since 1970, and times of day. A time without a year is in 1970, and one without a zone in UTC, so only
/// differences between the times of one log are meaningful.

#include <optional>
#include <string_view>

namespace unfold {

struct LogTime {
  double seconds = 0;
  std::string_view text = {};  ///< the time as written in the line
};

/// Returns the first time among the first 200 bytes of a line.
std::optional<LogTime> log_time(std::string_view line);

}  // namespace unfold
