#pragma once
/// `unfold score` for models of logs in streaming mode: one row per line or masked value.

#include "app/logs/log_anomaly_score.h"
#include "cli/score_rows.h"

namespace unfold {

struct ScoreLogOptions {
  ScoreRowOptions rows = {};
  LogScoreOptions scorer = {};
  bool masked = false, by_value = false;
};

/// Prints the row of each line before waiting for the next one, and finally the evaluation against the labels. Throws
/// like LogScorer, LineSource and ScoreRows.
void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options);

}  // namespace unfold
