#pragma once
/// `unfold score --by line` for plain-text models in streaming mode: one row per line.

#include "app/score/text_score.h"
#include "cli/score_rows.h"

namespace unfold {

struct ScoreTextOptions {
  ScoreRowOptions rows = {};
  std::string model;  ///< used in messages
  UnknownScore unknown = UnknownScore::error;
  int threads = 1;
};

/// Prints the row of each line before waiting for the next one, and finally the evaluation against the labels. With
/// `json`, prints a single object at the end. Throws like TextScorer, LineSource and ScoreRows.
void score_text(Console& console, const SymbolModel& model, const ScoreTextOptions& options);

}  // namespace unfold
