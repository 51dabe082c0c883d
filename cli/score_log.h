#pragma once
/// `unfold score` for log models in streaming mode: one row per line or masked value.

#include "app/logs/log_anomaly_score.h"
#include "cli/score_rows.h"

namespace unfold {

struct ScoreLogOptions {
  ScoreRowOptions rows = {};
  LogScoreOptions scorer = {};
  bool masked = false, by_value = false, by_session = false;
  std::optional<double> alarms_per_day = {};  ///< instead of LogScoreOptions::false_alarms
  std::optional<std::string> state = {};      ///< state file (app/logs/log_state.h)
  std::optional<std::string> metrics = {};    ///< file for the counters (app/logs/log_metrics.h)
};

/// Resolves --alarms-per-day with the number of lines per day in training. Throws UsageError if it is unknown.
LogScoreOptions with_share(const SymbolModel& model, const ScoreLogOptions& options);
/// Prints how often alarms were repeated. `what`: lines or sessions.
void print_repeated_alarms(Console& console, const LogAlarms& alarms, bool json, std::string_view what);

/// Prints the row of each line before waiting for the next one, and finally the evaluation against the labels. With
/// alarms, prints only the lines that raise one. Throws like LogAnomalyScorer, LogStateFile, LineSource and ScoreRows.
void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options);

}  // namespace unfold
