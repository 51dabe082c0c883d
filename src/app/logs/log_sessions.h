#pragma once
/// Sessions of logs: how training finds them, and their scores in streaming mode.
///
///   LogSessionScorer scorer(*model, {});
///   while (source.next(line)) for (const ScoredSession& ended : scorer.read(line)) use(ended);
///   for (const ScoredSession& ended : scorer.finish()) use(ended);
///
/// A session consists of the lines with the same value of one field (LogGrouping), or of one line in a session file
/// (data/logs/session_lines.h). Its events are the templates of the lines, or the words of the line. The value of a
/// field with few values, such as `"event": "commit"`, is part of the event if the previous event predicts it. A
/// session ends after a pause (model/logs/open_sessions.h), which training derives from the pauses between the lines of
/// a session. Lines without the field belong to no session.

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/logs/log_anomaly_score.h"
#include "model/logs/log_event.h"
#include "model/logs/open_sessions.h"
#include "model/logs/session_scorer.h"

namespace unfold {

/// Readable event names: the words of a session file, or templates. Their number is bounded.
class SessionEventNames {
 public:
  static constexpr std::size_t kMostNames = 4096, kLongestName = 200;
  void add(SessionEvent event, const std::function<std::string()>& name);
  std::string name(SessionEvent event) const;
  nlohmann::json to_json() const;
  void restore(const nlohmann::json& json);

 private:
  std::unordered_map<SessionEvent, std::string> names_;
};

/// The information in a model card about sessions (`configuration.log.sessions`).
struct LogSessionCard {
  std::uint64_t role = 0;                  ///< identifies `field` (log_event.h)
  std::string field = {};                  ///< empty: every line is a session
  std::vector<std::uint64_t> labels = {};  ///< fields whose values are part of the event (log_event.h)
  bool timed = false;                      ///< the pause is in seconds, not lines
  double pause = 0;
  Index shortest = 0, longest = 0;  ///< numbers of events in training
  SessionScorer scorer = {};
  SessionEventNames names = {};
};
nlohmann::json to_json(const LogSessionCard& card);
/// Returns no value for a model without sessions. Throws ModelError for an invalid card.
std::optional<LogSessionCard> log_session_card(const SymbolModel& model);

/// Learns the sessions of a log. `each_line` calls a function for every line, and may be called several times.
/// `grouping`: the field; `followed`: labels of fields with few values; for session files, `lines` has a value. Returns
/// no value if there are too few sessions. Throws UsageError if `required` and no sessions are found.
std::optional<LogSessionCard> learn_sessions(
    const std::function<void(const std::function<void(std::string_view, const LogLine&)>&)>& each_line,
    const LogGrouping& grouping, const std::vector<std::uint64_t>& followed, const std::optional<SessionLines>& lines,
    const LogClock& clock, bool required);
/// Returns a description: "sessions by request_id: 812 of 2 to 9 lines, ..."
std::string describe(const LogSessionCard& card);

/// Returns what is unusual about a session, in words: "E22: 1 time, usually 3".
std::string reason_of(const SessionScore& score, const SessionEventNames& names);

struct ScoredSession {
  LogSession session = {};
  SessionScore score = {};
};

class LogSessionScorer {
 public:
  /// Throws UsageError for a model without sessions.
  LogSessionScorer(const SymbolModel& model, bool adapt, std::string name);
  /// Returns the sessions that ended. Throws like LogLineReader::read.
  const std::vector<ScoredSession>& read(std::string_view line, Index lines = 1);
  const std::vector<ScoredSession>& finish();  ///< ends all sessions
  const LogSessionCard& card() const { return sessions_; }
  /// From now on, every session that ends is learned as a normal one.
  void learn_all() { learns_all_ = true; }
  /// Returns the card with everything that was learned.
  LogSessionCard learned_card() const;
  const LogLineReader& line() const { return reader_; }
  const SessionEventNames& names() const { return new_names_; }  ///< names of all events, including new ones
  bool one_per_line() const { return sessions_.field.empty(); }

  nlohmann::json state() const;
  void restore(const nlohmann::json& json);

 private:
  void see(LogSession session);
  void read_session();
  void score_ended();

  LogCard card_;
  LogSessionCard sessions_;
  LogLineReader reader_;
  LogEventReader events_;
  OpenSessions open_;
  SessionEventNames new_names_;
  bool adapt_, learns_all_ = false;
  double time_ = 0;
  SessionLineParts parts_;
  std::vector<ScoredSession> ended_;
};

}  // namespace unfold
