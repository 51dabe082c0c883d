#pragma once
/// The sessions of a log that have not ended: lines with the same value of a field, such as a request, process or
/// block.
///
///   OpenSessions open(pause);
///   open.add({.key = "blk_7", .event = 5, .line = 12, .time = seconds});
///   for (const LogSession& session : open.take_ended()) ...
///   open.end_all();                             // at the end of the log
///
/// A session ends when its last line is older than the pause, or when it is full (kMostEvents). If too many sessions
/// are open (kMostOpen) or hold too many events (kMostHeld), the sessions that have been idle the longest end early. A
/// clock that goes backwards by more than a pause ends all sessions. Adding a line takes constant time on average.

#include <cstdint>
#include <list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/logs/session_model.h"

namespace unfold {

/// Why a session ended: a pause, the limit of events, too many open sessions, the end of the log, or the end of the
/// line in a session file.
enum class LogSessionEnd { pause, length, memory, input, line };
inline constexpr std::array<const char*, 5> kLogSessionEnds = {"pause", "length", "memory", "input", "line"};

struct LogSessionLine {
  std::string_view key;
  SessionEvent event = 0;
  Index line = 0;
  double time = 0;  ///< time in seconds, or the number of the line for logs without times
  std::string_view time_text = {}, label = {};
};

struct LogSession {
  std::string key = {};
  std::vector<SessionEvent> events = {};
  Index first_line = 0, last_line = 0;
  double last_time = 0;
  std::string first_time_text = {}, last_time_text = {};  ///< times as written; empty if the lines have no times
  std::string label = {};                                 ///< label of the first line whose label is not the normal
                                                          ///< label
  LogSessionEnd end = LogSessionEnd::pause;
};

class OpenSessions {
 public:
  static constexpr std::size_t kMostEvents = 10000, kMostOpen = 100000, kMostHeld = std::size_t{1} << 22,
                               kLongestKey = 200;
  explicit OpenSessions(double pause) : pause_(pause) {}

  void add(const LogSessionLine& line);
  /// Ends the sessions whose pause has elapsed at this time, without adding a line.
  void pass(double time);
  void end_all();
  /// Returns the sessions that ended since the last call, in the order of their last lines.
  std::vector<LogSession> take_ended();
  std::size_t open() const { return sessions_.size(); }

  nlohmann::json to_json() const;
  void restore(const nlohmann::json& json);

 private:
  void end_oldest(LogSessionEnd end);

  double pause_;
  std::list<LogSession> sessions_;  // beginning with the session that has been idle the longest
  std::unordered_map<std::string_view, std::list<LogSession>::iterator> by_key_;
  std::size_t held_ = 0;  // number of events
  std::vector<LogSession> ended_;
};

}  // namespace unfold
