#pragma once
/// Curves from the logs of runs (log.jsonl, one object per event).

#include <string>
#include <utility>
#include <vector>

#include "unfold/report/plot.h"

namespace unfold {

/// (x, y) of all events of a kind that hold both keys as numbers: read_log_curve(path, "validation", "seconds",
/// "error_rate"). Lines that are cut off are skipped; a file that is not there gives no points.
std::vector<std::pair<double, double>> read_log_curve(const std::string& path, const std::string& event,
                                                      const std::string& x, const std::string& y);

/// The runs together, from where all but the latest have begun: at every x of any of them, quartiles of the lines
/// between each run's points. A run keeps its last value.
std::vector<CurvePoint> join_curves(const std::vector<std::vector<std::pair<double, double>>>& runs);

}  // namespace unfold
