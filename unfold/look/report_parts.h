#pragma once
/// Internal: where the sections of a report come from.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/data/corpus.h"
#include "unfold/data/split.h"
#include "unfold/look/page.h"
#include "unfold/look/report.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// A horizontal line among the curves.
struct Level {
  std::string label;
  double bits = 0;
};

// Of the folders alone: what their configurations and logs say (report_run.cpp).
PageSection card_section(const ReportRequest& request);
PageSection command_section(const ReportRequest& request);
// `unit`: what their logs count in (app/info.h, logged_unit).
PageSection curves_section(const ReportRequest& request, const std::string& unit, const std::vector<Level>& levels,
                           const std::string& no_levels);
PageSection seeds_section(const ReportRequest& request, const std::string& unit);
PageSection cost_section(const ReportRequest& request);
PageSection samples_section(const ReportRequest& request, const std::string& last_sample);
/// The command that trained a run, as one writes it in a shell.
std::string command_of(const std::string& run);

/// What looking into a model found: of text (report_text.cpp), of data with fields (report_fields.cpp), of a task.
struct Looked {
  std::vector<Level> levels = {};
  std::string no_levels = {};  ///< why there are none
  std::string sample = {};
  /// In the order of the page: text, neurons, gates, lags, radius, calibration, confusion, worst, forecasts, attention,
  /// trees, rolls.
  std::vector<PageSection> sections = {};
};
Looked look_into_text(const ReportRequest& request, Reporter& reporter);
Looked look_into_fields(const ReportRequest& request, Reporter& reporter);
/// Of a model of a generated task, by examples of its test part (report_task.cpp).
Looked look_into_task(const ReportRequest& request);
/// Spectral radii of a network: at its start, where it was best and at its last checkpoint (report_radius.cpp).
PageSection radius_section(const std::string& run);

/// How often a prediction of a certain probability came true.
class Calibration {
 public:
  void see(double probability, bool came_true);
  PageSection section() const;

 private:
  static constexpr std::size_t kBins = 10;
  std::vector<double> sums_ = std::vector<double>(kBins), hits_ = std::vector<double>(kBins);
  std::vector<Index> counts_ = std::vector<Index>(kBins);
};

/// What was there, and what was predicted. Holds only the pairs that occurred: its memory grows with the labels, not
/// with their square.
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
