#pragma once
/// The labels of a whole chain (markov/chain.h) under an automaton, exactly: the chain over pairs of a label and the
/// state that the automaton is in after it. Viterbi, the N best, sums and posteriors of all that is allowed.
///
///   const LabelSearch search(scores, emissions, allowed);
///   search.best(3)                 // scores, best first; empty: nothing of this length is allowed
///   search.log_sum() - log_z       // log of the probability that the labels are allowed
///
/// A chain of T positions and n labels, an automaton of S states: T S n^2 steps at most; pairs that nothing leads to,
/// or that lead to nothing allowed in time, cost none. Logarithms throughout: no score overflows.

#include <vector>

#include "unfold/markov/chain.h"
#include "unfold/search/automaton.h"

namespace unfold {

class LabelSearch {
 public:
  /// REQUIRES that all three live as long as this, an automaton over the labels, at least one position.
  LabelSearch(const ChainScores& scores, Emissions e, const Automaton& allowed);

  /// Log probabilities of the result: the scores, not normalised.
  std::vector<LabelledChain> best(Index count) const;
  /// log of the sum of exp(score) over all that is allowed; -inf: nothing is.
  double log_sum() const;
  /// log_p(t, j) = log p(y_t = j | what is allowed). REQUIRES that something is. Returns log_sum.
  double log_posteriors(Matrix<double> log_p) const;

 private:
  /// A pair of a label and a state of the automaton that may stand at a position.
  struct Pair {
    Symbol label;
    Index state;
  };
  struct Column {
    std::vector<Pair> pairs;
    /// Of each pair, those at the position before that lead to it.
    std::vector<std::vector<Index>> from;
  };
  void lay();
  double step_score(Index t, Index before, Index pair) const;
  std::vector<std::vector<double>> forward() const;

  const ChainScores& scores_;
  Emissions e_;
  const Automaton& allowed_;
  std::vector<Column> columns_;
};

/// What a scheme of labels allows, as an automaton: iob2 or iobes where some label begins with E- or S-
/// (markov/label_scheme.h). Throws UsageError for labels of no scheme.
Automaton chunk_automaton(const std::vector<std::string>& names);

}  // namespace unfold
