#pragma once
/// A report about one or more runs: a self-contained HTML file that works offline. It shows configuration and data,
/// learning curves, and an inspection of the model and its errors. A section without content gives the reason.
///
///   write_file_atomically("page.html", report_page({.runs = {"run"}}, reporter));
///
/// Several runs are expected to solve the same problem with different seeds or models. Sections that inspect a model
/// use the first run.

#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"

namespace unfold {

struct ReportRequest {
  std::vector<std::string> runs;       ///< run folders, or one model file
  std::vector<std::string> data = {};  ///< files for the inspection of the first model; empty: the data specified by
                                       ///< its run
  std::optional<double> floor = {};    ///< known lower bound of bits per symbol
  bool baselines = true;               ///< for text: also evaluate simple baseline models on the same data
  Index symbols = 20'000;              ///< number of symbols used for the inspection
  std::string unknown = "skip";
  Index threads = 0;  ///< 0: all available processors
};

/// Returns the page. Throws UsageError, DataError or ModelError for runs that cannot be read. Anything else that is
/// missing is noted in the page.
std::string report_page(const ReportRequest& request, Reporter& reporter);

/// Returns the name and version of the plotting library, "Chart.js 3.9.1"; empty if the build has none and plots are
/// static SVG.
std::string plotting_library();

}  // namespace unfold
