#pragma once
/// Counters of a log scorer in the text format of Prometheus (exposition format 0.0.4), for the textfile collector of
/// node_exporter and other readers of files.

#include <string>

#include "app/logs/log_anomaly_score.h"

namespace unfold {

/// Lines, anomalous lines, alarms by kind, and the p-value below which lines are anomalous now. With a restored state
/// the counters continue. REQUIRES that the scorer decides on alarms.
std::string prometheus_text(const LogAnomalyScorer& scorer);

}  // namespace unfold
