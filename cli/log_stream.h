#pragma once
/// Reads a log for `unfold score`, with or without --state, and writes the counters of --metrics. A subclass scores the
/// lines and prints rows.
///
///   class Rows : public LogStream { ... };
///   Rows(console, options, model).run();
///
/// If the model joins lines to records (data/logs/log_records.h), a record is scored when the next one begins, when
/// no line has arrived for kPauseAfterRecord, or at the end of the log. If training contained no records of several
/// lines, a line is scored at once: only lines that have already arrived can belong to its record.
///
/// With a state, reading continues after the lines of earlier runs (app/logs/log_state.h), and rows that an interrupted
/// run wrote are not written twice.

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "app/logs/log_input.h"
#include "app/logs/log_state.h"
#include "cli/score_log.h"
#include "data/logs/log_records.h"

namespace unfold {

class LogStream {
 public:
  static constexpr std::chrono::milliseconds kPauseAfterRecord{250};

  /// Throws like LogStateFile and log_card.
  LogStream(Console& console, const ScoreLogOptions& options, const SymbolModel& model);
  virtual ~LogStream() = default;
  LogStream(const LogStream&) = delete;
  LogStream& operator=(const LogStream&) = delete;

  /// Reads the log to its end. Throws like LogInput.
  void run();

 protected:
  virtual void see(const LogRecord& record) = 0;     ///< scores a record and prints rows
  virtual void replay(const LogRecord& record) = 0;  ///< scores a record of an earlier run
  virtual void finish() = 0;                         ///< called at the end of the log
  virtual nlohmann::json scorer_state() const = 0;
  virtual void restore(const nlohmann::json& state) = 0;
  virtual Index lines() const = 0;  ///< number of lines that were scored
  virtual std::string metrics() const = 0;

  Console& console() const { return console_; }
  const ScoreLogOptions& options() const { return options_; }
  bool only_alarms() const { return options_.scorer.false_alarms || options_.alarms_per_day; }
  bool has_state() const { return state_.has_value(); }
  std::string name() const { return input_.name(); }

 private:
  void resume();
  void add(std::string_view line, bool replayed);
  void end_record(bool replayed);
  void end_record_after(std::chrono::milliseconds pause);
  void end_unexpected_record();
  void note_records(const LogRecord& record);
  Index pending_lines() const { return joiner_ ? joiner_->pending().lines : 0; }
  void record(std::string_view line);
  void save();
  void write_metrics(bool at_end);
  nlohmann::json state() const;

  Console& console_;
  const ScoreLogOptions& options_;
  LogInput input_;
  std::optional<LogStateFile> state_;
  std::optional<LogRecordJoiner> joiner_;  // no value: each line is a record
  bool noted_records_ = false;
  std::chrono::steady_clock::time_point next_metrics_ = {};
};

}  // namespace unfold
