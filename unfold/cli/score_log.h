#pragma once
/// `unfold score` for models of logs: a row a line, as the lines come.

#include <optional>
#include <string>

#include "unfold/app/log_score.h"
#include "unfold/cli/console.h"

namespace unfold {

struct ScoreLogOptions {
  std::string data, normal = "-";
  std::optional<std::string> labels = {}, roc = {};
  LogScoreOptions scorer = {};
  Index top = 0;  ///< 0: every line in its order; else so many of the most surprising ones, after the end
  bool text = false, masked = false, summary = false, json = false;
};

/// Prints rows, each before it waits for the next line, and what labels say about them. Throws as LogScorer and
/// LineSource; UsageError where --roc or --summary lack labels.
void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options);

}  // namespace unfold
