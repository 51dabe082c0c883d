#pragma once
/// What the processes of a training do when: how much of the exchange computing waits for, and a trace to look at.

#include <string>

#include "unfold/processes/processes.h"
#include "unfold/processes/timeline.h"

namespace unfold {

/// Seconds of a step in which this process computes nothing for the sake of the exchange: the mean over the steps of a
/// timeline but the first two, which make room.
double waited_in_step(const Timeline& timeline);

/// The last steps of all processes as trace events (JSON, which chrome://tracing and Perfetto show): one process below
/// the other, each with what it computes and what it exchanges meanwhile. By all processes; the text is that of all.
std::string to_trace(Processes& processes, const Timeline& timeline, int steps);

}  // namespace unfold
