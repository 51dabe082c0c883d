#pragma once
/// `unfold score` for the sessions of logs: one row for each session, when it ends.

#include "cli/score_log.h"

namespace unfold {

/// Prints the row of each session when it has ended, and finally the evaluation against the labels. With alarms, prints
/// only the sessions that raise one. Throws like LogSessionScorer, LogInput and ScoreRows.
void score_sessions(Console& console, const SymbolModel& model, const ScoreLogOptions& options);

}  // namespace unfold
