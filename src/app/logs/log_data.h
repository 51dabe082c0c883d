#pragma once
/// Logs as training and the subcommands read them: line shapes (data/logs/log_lines.h) instead of lines. The rules,
/// and the information that is needed to score lines, are stored in the model card under `configuration.log`.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/logs/learned_logs.h"
#include "app/logs/log_value_surprisal.h"
#include "app/settings/train_settings.h"
#include "data/logs/log_lines.h"
#include "data/logs/log_records.h"
#include "data/logs/log_time.h"
#include "data/logs/session_lines.h"
#include "model/logs/log_detector.h"
#include "model/logs/rate_model.h"
#include "model/logs/shape_counts.h"
#include "model/logs/template_list.h"
#include "unfold/base/formats/json.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// The information in a model card about the log that the model was trained on.
struct LogCard {
  LogRules rules;
  bool label_column = false;
  Index lines = 0, shapes = 0;  ///< number of lines in training, and number of different shapes among them
  /// Number of different words that training read as `<unk>`, at least 1. They share the probability of `<unk>`.
  Index unknown_words = 1;
  LogValues values = {};  ///< values of each rule
  /// Whether the values of named fields are masked, as in all models that were trained with a detector.
  bool fields = false;
  WordSlots slots = {};      ///< positions where words vary freely
  double lines_per_day = 0;  ///< number of lines per day in training; 0: the lines have no times
  LogTemplateList templates = {};
  std::optional<SessionLines> session_lines = {};  ///< format of the sessions, for files with a session in each line
  std::optional<LogRecordRule> records = {};       ///< how lines are joined to records; no value: each line is a record
  LogClock clock = LogClock();  ///< order of numeric dates; a time near those without a year or a date
};
nlohmann::json to_json(const LogCard& card);
/// Returns no value for a model of other data. Throws ModelError for an invalid card.
std::optional<LogCard> log_card(const SymbolModel& model);
/// Returns the detector in the card. Throws UsageError for a model of other data, and ModelError for an invalid card.
LogDetector log_detector(const SymbolModel& model);
/// Returns the rates of lines in the card; an empty model for a log without times.
LogRateModel log_rates(const SymbolModel& model);
/// Returns the object that joins the lines of a log to records; no value if each line is a record.
std::optional<LogRecordJoiner> record_joiner(const SymbolModel& model);
/// Returns a hash of the card and the detector.
std::uint64_t log_fingerprint(const SymbolModel& model);

/// Converts the lines of a log to shapes, as the model reads them.
class LogShaper {
 public:
  explicit LogShaper(const LogCard& card)
      : scanner_(card.rules, card.fields), slots_(card.slots), session_lines_(card.session_lines) {}
  void read(std::string_view line, LogLine& out);

 private:
  LogScanner scanner_;
  WordSlots slots_;
  std::optional<SessionLines> session_lines_;
  SessionLineParts parts_;
};

/// Reads the logs of one training run.
class LogTraining {
 public:
  /// Reads the rules. Throws UsageError, DataError.
  explicit LogTraining(const TrainSettings& settings);
  /// Returns the logs of DATA as shapes. Detects whether the first column holds labels, and sets this and the label
  /// used for training in the settings. Throws DataError.
  std::vector<Input> read_data(std::vector<Input> inputs, TrainSettings& settings, Reporter& reporter);
  /// Reads another log (--valid) in the same way. REQUIRES read_data.
  std::vector<Input> read_more(const std::vector<Input>& inputs, const TrainSettings& settings) const;
  const LogCard& card() const { return card_; }
  /// Returns the card and the detector as they are stored in the model.
  nlohmann::json to_json() const;
  const LogShapeCounts& shapes() const { return shapes_; }  ///< of all lines of DATA
  const LogDetector& detector() const { return detector_; }
  const LearnedLogs& learned() const { return learned_; }  ///< the files of DATA

 private:
  class HeldOut;
  void find_date_order(const std::vector<Input>& inputs, Reporter& reporter);
  void join_records(std::vector<Input>& inputs, const TrainSettings& settings, Reporter& reporter);
  void learn_detector(const std::vector<Input>& inputs, const std::optional<std::string>& group);
  void learn_sessions(const std::vector<Input>& inputs, bool required, Reporter& reporter);
  std::unique_ptr<SymbolModel> words_model(const std::vector<Input>& inputs, const HeldOut& held_out) const;

  LogCard card_;
  LogScanner scanner_;
  LogDetector detector_;
  LogShapeCounts shapes_;
  LearnedLogs learned_;
  std::optional<JsonBox> parts_;  // parts of the card: sessions (app/logs/log_sessions.h) and rates
};

/// Returns a log whose lines end with LF: in a file without LF, CR ends lines.
Input with_line_feeds(Input log);
std::vector<Input> with_line_feeds(std::vector<Input> logs);
/// Joins the lines of records, as the card states. Notes in the card if there are records of several lines.
std::vector<Input> log_records(LogCard& card, std::vector<Input> inputs);
/// Returns inputs in the form that a log model reads.
std::vector<Input> log_shapes(const LogCard& card, const std::vector<Input>& inputs,
                              const std::optional<std::string>& only = {});

}  // namespace unfold
