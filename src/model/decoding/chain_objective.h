#pragma once
/// Internal: the objectives of objective.h for one chain, in double.

#include <vector>

#include "loss/crf/chain.h"

namespace unfold {

/// The counts that form the gradient: counts of positions [T x labels], and counts of neighbors in the layout of the
/// scores.
struct ChainCountsOf {
  std::vector<double> positions = {};
  ChainScores neighbors = {};

  explicit ChainCountsOf(Index labels);
};

struct ChainObjective {
  enum class Kind { perceptron, early_update, margin, risk, beam_search };
  Kind kind = Kind::perceptron;
  double cost = 1;
  Index beam = 0;

  /// Returns the value and adds its gradient to the counts; the counts of positions must be allocated and 0. `labels`:
  /// kNoSymbol for missing labels. Infinite if the true labels are impossible.
  double judge(const ChainScores& scores, Emissions e, const std::vector<Symbol>& labels, ChainCountsOf& counts) const;
};

}  // namespace unfold
