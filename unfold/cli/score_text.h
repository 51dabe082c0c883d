#pragma once
/// `unfold score --by line` for models of plain text: a row a line, as the lines come.

#include "unfold/app/text_score.h"
#include "unfold/cli/score_rows.h"

namespace unfold {

struct ScoreTextOptions {
  ScoreRowOptions rows = {};
  std::string model;  ///< for messages
  UnknownScore unknown = UnknownScore::error;
  int threads = 1;
};

/// Prints rows, each before it waits for the next line, and what labels say about them; with `json`, which is one
/// object, everything after the end. Throws as TextScorer, LineSource and ScoreRows.
void score_text(Console& console, const SymbolModel& model, const ScoreTextOptions& options);

}  // namespace unfold
