#pragma once
/// Bursts and silences of a log: time windows with unusually many or few lines, of all templates or of one template.
///
///   LogRateModel rates;
///   rates.fit(times, templates);                        // normal lines in their order
///   for (const LogRateAnomaly& found : rates.see(time, template_id, least_bits)) ...
///
/// Lines are counted in windows of up to three lengths; the shortest has about 20 lines. In each window, every frequent
/// template and the log as a whole have an expected count: m, the mean of the last windows (an exponential average over
/// about kRecentWindows), and l, the mean of all windows. n lines are a burst if they exceed e = max(m, l), and a
/// silence if there are fewer than e = min(m, l), so a daily rhythm is neither a burst nor a silence. Their score is
/// the deviance of a Poisson distribution, divided by the dispersion of the template:
///
///   bits = (n log2 (n / e) - (n - e) / ln 2) / max(1, mean of (n - m)^2 / (m + 1/2)).
///
/// With a daily rhythm, the dispersion is high, and a window without lines is not unusual. The pauses between lines are
/// therefore scored, too, for all lines and for each template. Let g be the length of a pause, L that of the longest
/// earlier one, and k the number of windows of the shortest length that contained lines. The score is
///
///   bits = log2 (1 + k) g / L,
///
/// - log2 of the probability of a pause of at least g if pauses are exponential and the longest of k has the length L.
/// It is 0 for k < kLeastPauses. A pause that has not ended is scored at the end of each window. Among the lines that
/// are scored, a pause counts as at most 2 L, so an outage does not hide the next one. After a silence of all lines
/// that is reported as such a pause, all counts begin again.
///
/// The highest scores of the training windows, computed with m and l of the preceding windows, form the distribution
/// for p-values (tail_calibration.h). A burst is reported while its window is open. A silence is reported when the
/// first line after the end of the window arrives. After a gap of more than kLongestGap windows, m is reset.
///
/// A line that is older than the current window counts in it, because several writers can delay single lines. After
/// kLateLines such lines in a row, the clock went back or an older log began: the window is discarded, and counting
/// begins again at the time of the line.
///
/// Time per line is constant on average, and memory is bounded.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <unordered_map>
#include <vector>

#include "model/logs/tail_calibration.h"

namespace unfold {

struct LogRateAnomaly {
  bool burst = false;             ///< true for a burst, false for a silence
  std::uint64_t template_id = 0;  ///< 0: all lines
  Index count = 0;
  double expected = 0, seconds = 0;  ///< expected number of lines in this number of seconds
  double p_bits = 0;
};

class LogRateModel {
 public:
  static constexpr std::size_t kMostTemplates = 500;
  static constexpr double kRecentWindows = 20, kLinesPerWindow = 20;
  static constexpr Index kLeastWindows = 40, kLongestGap = 64, kFirstWindows = 3, kLateLines = 20, kLeastPauses = 8;

  /// Fits the model; times are in seconds. Without enough windows, the model stays empty.
  void fit(const std::vector<double>& times, const std::vector<std::uint64_t>& templates);
  bool empty() const { return scales_.empty(); }
  /// Counts a line. Returns anomalies with a p-value of at most 2^-least_bits. The result is valid until the next call.
  const std::vector<LogRateAnomaly>& see(double time, std::uint64_t template_id, double least_bits);
  /// Ends the log: the next line begins a different log, at any time.
  void end_log();

  nlohmann::json to_json() const;
  static LogRateModel from_json(const nlohmann::json& json);

 private:
  struct Series {
    Index now = 0;
    double recent = 0, mean = 0;            // lines per window
    double dispersion = 0;                  // sum of (n - m)^2 / (m + 1/2)
    bool reported = false, silent = false;  // whether a burst was reported in this window, and a silence since the last
                                            // line
  };
  /// The pauses between the lines of a series.
  struct Pauses {
    bool started = false;  // whether there is a last line
    double last = 0, longest = 0;
    Index windows = 0;    // number of windows of the shortest length with lines
    bool silent = false;  // whether a silence was reported since the last line
  };
  struct Scale {
    double seconds = 0;
    bool started = false;
    double begin = 0;  // beginning of the current window
    Index windows = 0, recent_windows = 0;
    Index late = 0;  // number of lines in a row that are older than the current window
    std::vector<Series> series = {};
    std::array<TailCalibration, 2> tails = {};  // calibrations for bursts and for silences
  };
  void begin_window(Scale& scale, double time) const;
  void pass(Scale& scale, double time, double least_bits);
  void close_window(Scale& scale, double least_bits);
  void report(Scale& scale, std::size_t series, bool burst, double bits, double least_bits);
  static double bits_of(const Scale& scale, const Series& series, bool burst);
  static double bits_of(const Pauses& pauses, double seconds);
  void report_pause(std::size_t series, double end, double least_bits);
  void end_pause(std::size_t series, double time, double least_bits);
  void close_pauses(double end, double least_bits);
  void restart_pauses(double time);
  void restore_pauses(const nlohmann::json& json);

  std::vector<std::uint64_t> templates_;  // templates of all series but the first, which counts all lines
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::vector<Scale> scales_;
  std::vector<Pauses> pauses_;  // of all series; empty in models of earlier versions
  TailCalibration pause_tail_;
  double most_pause_ = 0;  // the highest score of a pause in the current window of the shortest length
  bool stopped_ = false;   // whether the log was silent until the current line
  bool learns_ = false;
  std::vector<LogRateAnomaly> found_;
};

}  // namespace unfold
