#pragma once
/// Anomaly scores for the lines of a log, computed in streaming mode with constant time and memory per line.
///
///   LogScorer scorer(*model);
///   while (source.next(line)) use(scorer.score(line));
///
/// Let x be the shape of a line (data/logs/log_lines.h) with n tokens including the line ending, P(x) its
/// probability under the model, N the number of lines and D the number of distinct shapes in training. Let c(x) be the
/// number of lines with this shape among the m lines scored so far, and let d be the number of distinct shapes among
/// them. Then
///
///   surprise(x) = - log2 [ (c(x) + N P(x) + (D + d) P(x)^(1/n)) / (m + N + D + d) ].
///
/// This is the Witten-Bell estimate of the n-gram model, applied to whole lines. The lines scored so far enter through
/// their counts, and the training lines enter through the model. Unseen lines share a probability mass proportional to
/// the number of distinct shapes so far; each gets a part proportional to the geometric mean of its token
/// probabilities. The surprisal of a repeated line therefore decreases, and long lines are not more anomalous because
/// of their length.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/common/line_source.h"
#include "app/logs/log_data.h"
#include "model/logs/log_alarms.h"

namespace unfold {

struct LogScoreOptions {
  /// Whether previously scored lines count (c, m and d above). If false, equal lines have equal scores.
  bool adapt = true;
  /// The name of a placeholder, such as host or pid. The context of a line is the previous line with the same value for
  /// this placeholder: with c(y, x) the number of lines x that followed y, the probability above is mixed with the
  /// relative frequency of x after y by the same rule. Empty: no context.
  std::string context = {};
  std::string name = "the log";  ///< used in messages
  /// Fraction of normal lines that may raise an alarm. LogAnomalyScorer then decides which lines do.
  std::optional<double> false_alarms = {};
  /// Whether LogAnomalyScorer finds unusual rates of lines even without `false_alarms`. All of them are then returned,
  /// each with a count of 1.
  bool rates = false;
};

struct ScoredLogLine {
  Index number = 0;   ///< from 1
  Index symbols = 0;  ///< tokens and the line ending
  double nats = 0;    ///< total over all tokens, -ln P(x)
  double surprise = 0;
  std::string token = {};  ///< the most surprising token as the model reads it; `<eos>` for the line ending
  double token_nats = 0;
  std::optional<std::string> label = {};
  double bits() const;
  double bits_per_symbol() const;
  double surprisal_bits() const;
  double token_bits() const;
};

/// Splits the lines of a log, or its records (data/logs/log_records.h), into label, text, shape and masked values.
class LogLineReader {
 public:
  /// `name` is used in messages.
  LogLineReader(const LogCard& card, std::string name)
      : name_(std::move(name)), label_column_(card.label_column), clock_(card.clock), shaper_(card) {}
  /// REQUIRES that the line outlives the use of its parts. Throws DataError for UTF-16 and for a line without a label
  /// if the first non-empty line had one. `lines`: the number of lines in the record.
  void read(std::string_view line, Index lines = 1);
  Index number() const { return number_; }    ///< number of the first line of the record, from 1
  Index lines() const { return lines_; }      ///< number of lines read
  Index records() const { return records_; }  ///< number of records read
  /// Continues after the lines of an earlier run.
  void continue_after(Index lines, Index records, std::optional<bool> labeled) {
    lines_ = lines;
    records_ = records;
    labeled_ = labeled;
  }
  const std::optional<bool>& labeled() const { return labeled_; }
  const std::optional<std::string>& label() const { return label_; }
  std::string_view text() const { return text_; }  ///< text of the line, without the label
  std::optional<LogTime> time() const { return clock_.read(text_); }
  const LogLine& parts() const { return parts_; }

 private:
  std::string name_;
  bool label_column_;
  mutable LogClock clock_;  // follows the lines whose time was read
  LogShaper shaper_;
  std::optional<bool> labeled_ = {};
  Index number_ = 0, lines_ = 0, records_ = 0;
  Index unlabeled_ = 0;  // number of the first line without a label word; 0: none so far
  std::optional<std::string> label_ = {};
  std::string_view text_;
  LogLine parts_;
};

/// Surprisal of each masked value in the lines of a log (log_value_surprisal.h).
class LogValueScorer {
 public:
  /// With `adapt`, the values of previously scored lines count. Throws like LogScorer.
  LogValueScorer(const SymbolModel& model, bool adapt, std::string name = "the log");

  struct Scored {
    MaskedValue value;
    double surprise = 0;  ///< surprisal in nats
  };
  /// Returns the scored values of a line, in order. Throws like LogLineReader::read.
  const std::vector<Scored>& score(std::string_view line, Index lines = 1);
  const LogLineReader& line() const { return reader_; }

 private:
  LogCard card_;
  LogLineReader reader_;
  bool adapt_;
  std::vector<Scored> scored_;
};

/// Scores the words of lines (see above).
class LogScorer {
 public:
  /// The model must outlive the scorer. Throws ModelError, and UsageError for a model that was not trained on logs or a
  /// context that is not the name of a rule.
  explicit LogScorer(const SymbolModel& model, LogScoreOptions options = {});

  /// Scores a line, passed without its line end. Throws like LogLineReader::read, and ModelError if a prediction is not
  /// finite.
  ScoredLogLine score(std::string_view line, Index lines = 1);
  const LogLineReader& line() const { return reader_; }  ///< the last line read
  std::string template_text(std::uint64_t template_id) const;

  /// Returns the shapes of scored lines. REQUIRES that there is no context.
  nlohmann::json state() const;
  /// Throws ModelError for JSON that `state` cannot have produced.
  void restore(const nlohmann::json& json);

 private:
  struct Shape {
    Index number = 0, symbols = 0, seen = 0;
    double nats = 0, token_nats = 0;
    std::string token = {};
  };
  struct Context {
    Index lines = 0, different = 0;
  };
  Shape& shape_of_line();
  Shape measured(std::string_view text) const;
  double surprise(const Shape& shape);
  double mixed_with_context(double log_probability, const Shape& shape);
  void forget_rare();

  const SymbolModel& model_;
  LogScoreOptions options_;
  LogCard card_;
  LogLineReader reader_;
  std::unique_ptr<Predictor> predictor_;
  std::unordered_map<std::string, Shape> shapes_;
  std::unordered_map<std::string, Index> previous_;  // number of the last shape, keyed by the value of the context
  std::unordered_map<Index, Context> followed_;      // keyed by shape number
  std::unordered_map<std::string, Index> pairs_;     // key "a b": how many lines of shape b followed one of shape a
  Index shapes_made_ = 0, shapes_seen_ = 0;
};

/// An alarm about the number of lines in a window of time.
struct LogRateAlarm {
  LogRateAnomaly rate = {};
  LogAlarm alarm = {};
};

/// A line with the scores of all sources.
struct LogAnomaly {
  ScoredLogLine words = {};
  LogLineScore score = {};
  std::optional<LogAlarm> alarm = {};    ///< a new alarm, or an alarm that this line repeats
  double limit = 0;                      ///< the highest p-value that raised an alarm when the line was read
  std::string expected = {};             ///< for an alarm: common values at the position of the value, before this line
  std::optional<LogAlarm> drift = {};    ///< a field that occurs in many lines since it appeared
  std::vector<LogRateAlarm> rates = {};  ///< alarms about time windows, raised at the time of this line; repetitions
                                         ///< have a count above 1
  double surprisal_bits() const { return score.surprise; }
};

/// Scores lines by their words, their order in the log and their values (model/logs/log_detector.h).
class LogAnomalyScorer {
 public:
  /// Throws like LogScorer and log_detector.
  explicit LogAnomalyScorer(const SymbolModel& model, const LogScoreOptions& options = {});
  /// Scores a line, passed without its line end. Throws like LogScorer::score.
  LogAnomaly score(std::string_view line, Index lines = 1);
  const LogLineReader& line() const { return words_.line(); }
  const LogDetector& detector() const { return detector_; }
  const LogAlarms& alarms() const { return alarms_; }
  /// Returns the text of a template; empty if it is not among the most frequent ones.
  std::string template_text(std::uint64_t template_id) const;
  /// Returns "silence of all lines: 0 lines in 60 s instead of 31.5".
  std::string describe(const LogRateAlarm& alarm) const;

  /// Returns everything that later scores depend on. REQUIRES that there is no context.
  nlohmann::json state() const;
  void restore(const nlohmann::json& json);

 private:
  void find_rates(double seconds, std::string_view time, LogAnomaly& anomaly);

  bool adapt_, decides_;
  LogScorer words_;
  LogDetector detector_;
  LogAlarms alarms_;
  LogRateModel rates_;
};

}  // namespace unfold
