#pragma once
/// Internal: the objectives of objective.h for one chain, in double.

#include <vector>

#include "unfold/markov/chain.h"

namespace unfold {

/// What is counted for the gradient: of positions [T x labels], of neighbours as the scores are laid out.
struct ChainCountsOf {
  std::vector<double> positions = {};
  ChainScores neighbours = {};

  explicit ChainCountsOf(Index labels);
};

struct ChainObjective {
  enum class Kind { perceptron, early_update, margin, risk, beam_search };
  Kind kind = Kind::perceptron;
  double cost = 1;
  Index beam = 0;

  /// The value; adds its gradient to the counts, those of positions are there and 0. `labels`: kNoSymbol where none is
  /// known. Infinite where the true labels cannot be.
  double judge(const ChainScores& scores, Emissions e, const std::vector<Symbol>& labels, ChainCountsOf& counts) const;
};

}  // namespace unfold
