#pragma once
/// Counters of a log scorer in the Prometheus text format (exposition format 0.0.4), for the textfile collector of
/// node_exporter and other readers of files.

#include <string>

#include "model/logs/log_alarms.h"

namespace unfold {

/// Returns the number of lines or sessions, the number of anomalous ones, the alarms by kind, and the current p-value
/// threshold. With a restored state the counters continue.
std::string prometheus_text(const LogAlarms& alarms);

}  // namespace unfold
