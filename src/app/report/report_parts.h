#pragma once
/// Functions that create the sections of a report. Internal to app/report/.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/report/page.h"
#include "app/report/report.h"
#include "app/settings/train_settings.h"
#include "model/selection/baselines.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"

namespace unfold {

/// A horizontal reference line in a chart.
struct Level {
  std::string label;
  double bits = 0;
};

// Sections that need only the configurations and logs of the run folders (report_run.cpp).
PageSection card_section(const ReportRequest& request);
PageSection command_section(const ReportRequest& request);
// `unit`: the unit used in the logs (logged_unit in app/inspect/info.h).
PageSection curves_section(const ReportRequest& request, const std::string& unit, const std::vector<Level>& levels,
                           const std::string& no_levels);
PageSection seeds_section(const ReportRequest& request, const std::string& unit);
PageSection cost_section(const ReportRequest& request);
PageSection samples_section(const ReportRequest& request, const std::string& last_sample);
/// Returns the shell command that trained a run.
std::string command_of(const std::string& run);

/// Returns a table that compares baselines with the results of the model.
PageSection baselines_section(const std::vector<ComparedBaseline>& baselines);

/// Results of the inspection of a text model (report_text.cpp), a model for data with fields (report_fields.cpp), or a
/// task model (report_task.cpp).
struct Looked {
  std::vector<Level> levels = {};
  std::string no_levels = {};  ///< the reason if there are no levels
  std::string sample = {};
  /// In page order: baselines, text, neurons, gates, lags, radius, calibration, confusion, worst, forecasts, attention,
  /// trees, rolls.
  std::vector<PageSection> sections = {};
};
Looked inspect_text(const ReportRequest& request, Reporter& reporter);
Looked inspect_fields(const ReportRequest& request, Reporter& reporter);
/// Inspects a model of a generated task on examples of its test part (report_task.cpp).
Looked inspect_task(const ReportRequest& request);
/// Returns whether a run holds a model of the lines of a log.
bool holds_log_model(const std::string& run);
/// Inspects a model of a log on a log: the most anomalous lines, alarms, timeline, templates and drift
/// (report_log.cpp).
std::vector<PageSection> inspect_log(const ReportRequest& request, Reporter& reporter);
/// Spectral radii of a network at initialization, at the best validation and at the last checkpoint
/// (report_radius.cpp).
PageSection radius_section(const std::string& run);

/// Collects calibration data: how often predictions of a given probability were correct.
class Calibration {
 public:
  void see(double probability, bool came_true);
  PageSection section() const;

 private:
  static constexpr std::size_t kBins = 10;
  std::vector<double> sums_ = std::vector<double>(kBins), hits_ = std::vector<double>(kBins);
  std::vector<Index> counts_ = std::vector<Index>(kBins);
};

/// A confusion matrix of observed and predicted labels.
class Confusion {
 public:
  explicit Confusion(std::vector<std::string> names) : names_(std::move(names)) {}
  void see(Symbol wanted, Symbol best);
  PageSection section() const;

 private:
  std::vector<std::string> names_;
  std::map<std::pair<std::size_t, std::size_t>, Index> counts_;  // (wanted, best)
};

}  // namespace unfold
