#pragma once
/// A page about runs: one HTML file that needs no network and no other file. What was trained on what and how, how it
/// went, what the model knows and where it fails. A section for which there is nothing says why.
///
///   write_file_atomically("page.html", report_page({.runs = {"run"}}, reporter));
///
/// The runs are of one thing, in the end: several differ in their seeds, or in their models. What looks into a model
/// looks into the first.

#include <optional>
#include <string>
#include <vector>

#include "unfold/runs/reporter.h"

namespace unfold {

struct ReportRequest {
  std::vector<std::string> runs;       ///< run folders, or one model file
  std::vector<std::string> data = {};  ///< files the first model is shown on; empty: what its run says
  std::optional<double> floor = {};    ///< bits per symbol that no model can go below, where that is known
  bool baselines = true;               ///< of text: measure simple models on the same data
  Index symbols = 20'000;              ///< of the data that are looked at
  std::string unknown = "skip";
  Index threads = 0;  ///< 0: every processor available
};

/// The page. Throws UsageError, DataError, ModelError for runs that cannot be read; what is missing of the rest is said
/// in the page.
std::string report_page(const ReportRequest& request, Reporter& reporter);

/// The plotting library in the page, "Chart.js 3.9.1"; empty where the build did not find it: plots are then plain
/// pictures.
std::string plotting_library();

}  // namespace unfold
