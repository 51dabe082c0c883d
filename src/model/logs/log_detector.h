#pragma once
/// Anomaly scores of log lines from three sources: the words of a line, the order of the lines, and the values in a
/// line.
///
///   LogDetector detector;
///   detector.find_places(each_line);                     // several passes over the lines of training
///   detector.mask(line);                                 // masks words that vary freely
///   detector.learn(line); detector.pass(line);           // all lines: counted, or to be held out
///   detector.begin_calibration();
///   detector.pass(line); detector.hold_out(line, words); // all lines again: counted before, or held out
///   detector.calibrate();
///   LogLineScore score = detector.score(line, words);    // then `learn` it, unless the detector should remain fixed
///
/// The scores of the sources have different scales. Each is converted to a p-value by its distribution among held-out
/// lines (tail_calibration.h). With p_i their p-values and w_i = 2/3, 1/6, 1/6, the anomaly score in bits is
///
///   surprise = log2 [ sum_i w_i / p_i ],
///
/// - log2 of the weighted harmonic mean, which is valid for dependent p-values up to a small factor (Wilson 2019). The
/// p-value of a line is its rank among the surprises of held-out lines and of the lines scored so far. The p-value of
/// its values is such a rank, too, because the frequency of rare values in normal lines changes over time and new
/// values would otherwise outrank an unusual order. New templates and orders are learned by the word model and the
/// order model.
///
/// The score of the words is -log2 of the probability of the template. It is computed by a different model and passed
/// as an argument. For templates that have occurred, the relative frequency is used if it is higher.
///
/// New templates and new values often come in bursts, as after a restart. The p-values of words and values therefore
/// also depend on the scores of the last lines (recent_scores.h), so a burst does not outrank a single anomaly of
/// another source. The p-value of the line, which decides about alarms, does not depend on them.

#include <array>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/logs/log_event.h"
#include "model/logs/order_model.h"
#include "model/logs/recent_scores.h"
#include "model/logs/tail_calibration.h"
#include "model/logs/value_model.h"
#include "model/logs/word_slots.h"

namespace unfold {

enum class LogSource { words, order, values };
inline constexpr std::array<const char*, 3> kLogSources = {"words", "order", "values"};

struct LogLineScore {
  std::array<double, 3> raw{};          ///< score of each source in bits
  std::array<double, 3> long_run{};     ///< -log2 of the p-value of each source, regardless of the last lines
  std::array<double, 3> parts{};        ///< the same, given the last lines (recent_scores.h)
  double surprise = 0;                  ///< bits, from `parts`
  double long_run_surprise = 0;         ///< bits, from `long_run`
  double p_bits = 0;                    ///< -log2 of the p-value of the line: the rank of long_run_surprise
  LogSource source = LogSource::words;  ///< the source with the smallest p-value in `long_run`
  LogOrderScore order = {};
  LogValueScore value = {};
  double p_value() const;
};

/// How the lines of a log are grouped.
struct LogGrouping {
  std::uint64_t role = 0;               ///< 0: consecutive lines form one group
  std::string name = {};                ///< "request_id"; empty: all lines
  bool used = false;                    ///< whether the order of lines is predictable
  double bits = 0, unordered_bits = 0;  ///< bits per line of the events, with and without their context
};

class LogDetector {
 public:
  using EachLine = std::function<void(const std::function<void(LogLine&)>&)>;

  /// Finds the positions where words vary, the fields with few values, and the role that groups lines. `each_line`
  /// calls a function for every line of training and may be called several times. `role`: the name of the role to use;
  /// empty: chosen automatically. Throws UsageError if the role does not occur.
  void find_places(const EachLine& each_line, const std::string& role = {});
  /// Masks the words of a line at the positions where words vary (see find_places). The masked values are valid until
  /// the next call.
  void mask(LogLine& line) { slots_.mask(line); }

  /// `words`: score of the words in bits. The line must be masked. The result refers to the line.
  const LogLineScore& score(const LogLine& line, double words);
  /// Counts the line that was scored last; `learn_scores` also adds its scores to the distributions of p-values.
  void learn_scored(bool learn_scores = true);
  void learn(const LogLine& line);
  void pass(const LogLine& line);  ///< the line serves only as the predecessor of the next line
  void begin_calibration() { order_.forget_groups(); }
  /// Scores a line for the calibration and learns it.
  void hold_out(const LogLine& line, double words);
  void calibrate();
  /// Multiplies the counts of templates, values and transitions by a factor from 0 to 1 and rounds them. The
  /// distributions of the scores remain.
  void decay(double factor);

  const LogEvent& event() const { return *event_; }  ///< event of the last line
  std::string expected(const LogLineScore& score) const;
  /// Returns whether the template of the last line did not occur in earlier lines.
  bool has_new_template() const { return templates_.count(event_->template_id) == 0; }
  /// Returns a named field of the last line that did not occur in earlier lines; null if there is none.
  const LogEventValue* new_field() const;
  const LogGrouping& grouping() const { return grouping_; }
  /// Returns the labels of the fields with few values that are tracked (order_model.h).
  const std::vector<std::uint64_t>& followed_fields() const { return order_.labels(); }
  const WordSlots& slots() const { return slots_; }
  const LogValueModel& values() const { return values_; }
  const TailCalibration& calibration() const { return surprise_; }
  Index lines() const { return lines_; }

  nlohmann::json to_json(bool whole) const;
  static LogDetector from_json(const nlohmann::json& json);

 private:
  void choose_fields(const EachLine& each_line, const std::string& role);
  LogGrouping choose_grouping(const EachLine& each_line, const std::vector<std::uint64_t>& labels,
                              const std::vector<std::pair<std::uint64_t, std::string>>& roles,
                              const std::vector<Index>& groups) const;
  void raw_scores(double words);
  void combine();
  void remember_scores();

  WordSlots slots_;
  LogEventReader reader_;
  LogGrouping grouping_;
  LogValueModel values_;
  LogOrderModel order_{{}, 0};
  std::array<TailCalibration, 3> sources_;
  TailCalibration surprise_;
  std::array<RecentScores, 3> recent_;  // of words and values; empty for the order
  std::vector<std::array<double, 3>> held_out_;
  CountTable templates_{std::size_t{1} << 18};
  Index lines_ = 0;
  const LogEvent* event_ = nullptr;
  LogLineScore score_;
};

}  // namespace unfold
