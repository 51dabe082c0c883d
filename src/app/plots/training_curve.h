#pragma once
/// Curves read from the logs of training runs (log.jsonl, one JSON object per event).

#include <string>
#include <utility>
#include <vector>

#include "app/plots/plot.h"

namespace unfold {

/// Returns (x, y) for all events of a type that have both keys as numbers: read_log_curve(path, "validation",
/// "seconds", "error_rate"). Truncated lines are skipped. A missing file yields no points.
std::vector<std::pair<double, double>> read_log_curve(const std::string& path, const std::string& event,
                                                      const std::string& x, const std::string& y);

/// Joins the curves of several runs: at every x of any run, quartiles of the linearly interpolated curves. The joined
/// curve begins when all runs except late ones have begun. After its last point, a curve is constant.
std::vector<CurvePoint> join_curves(const std::vector<std::vector<std::pair<double, double>>>& runs);

}  // namespace unfold
