#pragma once
/// Analysis of the timelines of distributed training: time spent waiting for the exchange, and traces for a viewer.

#include <string>

#include "unfold/distributed/processes.h"
#include "unfold/distributed/timeline.h"

namespace unfold {

/// Returns the seconds per step in which this process waits for the exchange: the mean over the steps of a timeline,
/// without the first two, which allocate memory.
double waited_in_step(const Timeline& timeline);

/// Returns the last steps of all processes as trace events in JSON, for chrome://tracing and Perfetto: one row per
/// process for computation and exchange. Called by all processes; all receive the complete text.
std::string to_trace(Processes& processes, const Timeline& timeline, int steps);

}  // namespace unfold
