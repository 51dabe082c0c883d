#pragma once
/// The logs that a model has learned, so that an update does not learn a line twice.
///
///   LearnedLogs learned;
///   learned.add(log);
///   if (std::optional<RepeatedLog> repeated = learned.beginning_of(newer)) use(repeated->rest);
///
/// A log is identified by its bytes (after decompression), not by its name: a copy that was renamed or compressed is
/// the same log, and a log that has grown begins with the bytes that were learned. A last line that was learned
/// incompletely is not learned again.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/logs/log_time.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"

namespace unfold {

/// A time as written in a line.
struct LogMoment {
  double seconds = 0;  ///< data/logs/log_time.h
  std::string text = {};
};

/// Returns the first or the last time of a log, from at most a thousand lines at its beginning or end; no value if
/// these lines have no times.
std::optional<LogMoment> first_log_time(std::string_view text, LogClock clock = LogClock());
std::optional<LogMoment> last_log_time(std::string_view text, LogClock clock = LogClock());

/// A log whose beginning was learned.
struct RepeatedLog {
  std::string name = {};       ///< the name under which it was learned
  Index lines = 0;             ///< number of lines that were learned
  std::string_view rest = {};  ///< the lines after them
};

class LearnedLogs {
 public:
  /// The oldest of more logs are forgotten.
  static constexpr std::size_t kMost = 10000;

  void add(const Input& log, const LogClock& clock = LogClock());
  /// Returns the longest learned log that `log` begins with.
  std::optional<RepeatedLog> beginning_of(const Input& log) const;
  /// Returns the latest time of all logs; no value if they have no times.
  const std::optional<LogMoment>& latest() const { return latest_; }

  nlohmann::json to_json() const;
  /// Throws ModelError for JSON that `to_json` cannot have produced.
  static LearnedLogs from_json(const nlohmann::json& json);

 private:
  struct Log {
    std::string name = {};
    Index bytes = 0, lines = 0;
    std::uint64_t beginning = 0, all = 0;  // hashes of the first bytes and of all bytes
  };
  std::vector<Log> logs_;
  std::optional<LogMoment> latest_;
};

}  // namespace unfold
