#pragma once
/// Exact inference for the labels of a whole chain (loss/crf/chain.h) constrained by an automaton, as a chain over
/// pairs of a label and the automaton state after it: Viterbi, the N best, sums and posteriors over all allowed
/// sequences.
///
///   const LabelSearch search(scores, emissions, allowed);
///   search.best(3)                 // scores, best first; empty: no sequence of this length is allowed
///   search.log_sum() - log_z       // log of the probability that the labels are allowed
///
/// For T positions, n labels and S automaton states, a search takes at most T S n^2 steps; pairs that are unreachable,
/// or from which no allowed sequence can be completed in time, are skipped. All computations use logarithms, so scores
/// do not overflow.

#include <vector>

#include "loss/crf/chain.h"
#include "model/decoding/automaton.h"

namespace unfold {

class LabelSearch {
 public:
  /// REQUIRES that all arguments outlive the object, that the automaton is over the labels, and at least one position.
  LabelSearch(const ChainScores& scores, Emissions e, const Automaton& allowed);

  /// The log probabilities in the result are scores that are not normalized.
  std::vector<ScoredLabeling> best(Index count) const;
  /// Returns the logarithm of the sum of exp(score) over all allowed sequences; -inf if there are none.
  double log_sum() const;
  /// Sets log_p(t, j) = log p(y_t = j | the sequence is allowed) and returns log_sum. REQUIRES that some sequence is
  /// allowed.
  double log_posteriors(Matrix<double> log_p) const;

 private:
  /// A pair of a label and an automaton state that is possible at a position.
  struct Pair {
    Symbol label;
    Index state;
  };
  struct Column {
    std::vector<Pair> pairs;
    /// For each pair, its predecessors at the previous position.
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

/// Returns the automaton of a labeling scheme: IOB2, or IOBES if some label begins with E- or S-
/// (loss/crf/label_scheme.h). Throws UsageError for labels that follow neither scheme.
Automaton chunk_automaton(const std::vector<std::string>& names);

}  // namespace unfold
