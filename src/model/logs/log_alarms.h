#pragma once
/// Decides which anomalous lines raise an alarm: at most a given share of normal lines, and one alarm per anomaly.
///
///   LogAlarms alarms({.share = 0.001});
///   const LogAlarm* alarm = alarms.see(detector, score, line_number);   // null: no alarm
///   alarm->count;                                                       // 1: a new one; otherwise a repetition
///
/// A line is anomalous if its p-value is at most the threshold, which is at first the share. The threshold is adjusted
/// as lines are read (Gibbs and Candes 2021, in logarithms, by a factor from 1/4 to 8), so the guarantee holds even if
/// the distribution of the lines changes.
///
/// Anomalies with the same cause are repetitions: a new field, a new template, the same two events in a row, or the
/// same value at the same position. A cause that was absent for 1 / share lines raises a new alarm. If many anomalies
/// have different causes at once, such as after a change of the format, a single alarm of the kind `drift` represents
/// all of them until they become rare. Its cause states what changed and since when.
///
/// New templates that contain a new field repeat the alarm of the field, until 1 / share lines have been read since.
/// After kFieldLines lines, `see_drift` reports which share of the lines contains the field, if at least kFieldCount
/// lines do.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/logs/log_detector.h"
#include "model/logs/rate_model.h"

namespace unfold {

struct LogAlarmOptions {
  double share = 0.001;  ///< share of normal lines that may raise an alarm
};

enum class LogAlarmKind { field, template_, order, value, drift, session, burst, silence };
inline constexpr std::array<const char*, 8> kLogAlarmKinds = {"new field", "template", "order", "value",
                                                              "drift",     "session",  "burst", "silence"};

struct LogAlarm {
  LogAlarmKind kind = LogAlarmKind::template_;
  Index count = 0;  ///< number of lines with this cause so far
  Index first_line = 0, last_line = 0;
  std::string first_time = {}, last_time = {};  ///< times as written in the lines; empty if the lines have no time
  std::string cause = {};                       ///< name of the field, or what is unusual about a session
  Index last_seen = 0;                          ///< number of lines or sessions up to the last occurrence
  Index began = 0;                              ///< number of lines or sessions up to the first occurrence
};

/// A named field that did not occur in training.
struct LogNewField {
  std::string name = {};
  std::uint64_t label = 0;     ///< log_event.h
  Index count = 0, began = 0;  ///< number of lines with the field; number of lines up to the first one
  Index first_line = 0;
  std::string first_time = {};  ///< empty if the line has no time
  bool reported = false;        ///< whether `see_drift` reported it
};

class LogAlarms {
 public:
  static constexpr std::size_t kMostCauses = 50000, kMostFields = 64;
  static constexpr Index kFieldLines = 200, kFieldCount = 10;
  explicit LogAlarms(LogAlarmOptions options) : options_(options) {}

  /// Must be called before the detector learns the line. The result is valid until the next call.
  const LogAlarm* see(const LogDetector& detector, const LogLineScore& score, Index line, std::string_view time);
  /// Like `see`, for a session that ended at this line. Sessions that are unusual for the same reason are repetitions.
  const LogAlarm* see_session(double p_bits, const std::string& reason, Index line, std::string_view time);
  /// Like `see`, for a time window with too many or too few lines. It does not count as a line.
  const LogAlarm* see_rate(const LogRateAnomaly& rate, Index line, std::string_view time);
  /// Returns an alarm of the kind `drift` for a new field that is due (see above); null if there is none. Called after
  /// `see`; it does not count as a line.
  const LogAlarm* see_drift(Index line, std::string_view time);
  const std::vector<LogNewField>& new_fields() const { return fields_; }
  /// "new field tenant in 12 % of the lines since 10:31:05"
  std::string describe(const LogNewField& field) const;
  double share_bits() const;  ///< - log2 of the share in the options
  /// Returns the alarms that were repeated, in the order of their first lines.
  std::vector<const LogAlarm*> repeated() const;

  double threshold() const { return share_now(); }  ///< current p-value below which lines are anomalous
  Index alarms() const { return alarms_; }
  Index anomalous() const { return anomalous_; }
  Index lines() const { return lines_; }
  Index alarms(LogAlarmKind kind) const { return by_kind_[static_cast<std::size_t>(kind)]; }

  nlohmann::json to_json() const;
  void restore(const nlohmann::json& json);

 private:
  double share_now() const;
  using FindCause = std::function<LogAlarm&(std::uint64_t& key)>;
  const LogAlarm* see(double p_bits, Index line, std::string_view time, const FindCause& find_cause);
  LogAlarm& cause_of(const LogDetector& detector, const LogLineScore& score, std::uint64_t& key);
  bool drifts(bool is_new);
  LogAlarm* alarm_of_new_field(const LogEvent& event, std::uint64_t& key);
  void count_fields(const LogEvent& event, const LogAlarm* alarm, Index line, std::string_view time);
  void begin_drift();

  LogAlarmOptions options_;
  std::unordered_map<std::uint64_t, LogAlarm> causes_;
  LogAlarm drift_{.kind = LogAlarmKind::drift}, field_drift_{.kind = LogAlarmKind::drift};
  std::vector<LogNewField> fields_;
  double correction_ = 0;  // correction of ln(share)
  double recent_ = 0;      // decayed number of new causes
  bool drifting_ = false;
  Index alarms_ = 0, anomalous_ = 0, lines_ = 0;
  std::array<Index, kLogAlarmKinds.size()> by_kind_ = {};
};

}  // namespace unfold
