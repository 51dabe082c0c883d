#pragma once
/// `unfold score` for models of logs: a row a line or a masked value, as the lines come.

#include "unfold/app/log_score.h"
#include "unfold/cli/score_rows.h"

namespace unfold {

struct ScoreLogOptions {
  ScoreRowOptions rows = {};
  LogScoreOptions scorer = {};
  bool masked = false, by_value = false;
};

/// Prints rows, each before it waits for the next line, and what labels say about them. Throws as LogScorer, LineSource
/// and ScoreRows.
void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options);

}  // namespace unfold
