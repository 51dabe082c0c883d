#pragma once
/// Counters of a log scorer in the text format of Prometheus (exposition format 0.0.4), for the textfile collector of
/// node_exporter and other readers of files.

#include <string>

#include "model/logs/log_alarms.h"

namespace unfold {

/// Lines or sessions, those that are anomalous, alarms by kind, and the p-value below which they are anomalous now.
/// With a restored state the counters continue.
std::string prometheus_text(const LogAlarms& alarms);

}  // namespace unfold
