#pragma once
/// Internal: hidden states of labels. Each label has `each` states; state l * each + k is the k-th state of label l.
/// The chain over all states has normalized transition probabilities:
///
///   log a(i, j) = A_ij - log sum over j' that may follow i of exp A_ij',     log pi(j), log q(j) likewise
///
/// pi: probability of the first state, q: prior probability of a state. The score of a path s of states over a signal o
/// is
///
///   sum_t o_t[s_t] - log q(s_t)  +  log pi(s_1) + sum_{t>1} log a(s_{t-1}, s_t)

#include <span>
#include <vector>

#include "loss/crf/chain.h"

namespace unfold {

enum class StateOrder {
  any,     ///< every state may follow every other state
  forward  ///< left-to-right: a label starts in its first state, stays or moves to the next, and may end in any state
};

struct LabelStates {
  Index labels = 0, each = 1;
  StateOrder order = StateOrder::any;
  bool one_label = false;  ///< states of different labels never follow each other

  Index count() const { return labels * each; }
  Symbol label(Index state) const { return static_cast<Symbol>(state / each); }
  bool follows(Index before, Index state) const;
  bool begins(Index state) const { return order == StateOrder::any || state % each == 0; }
};

/// Unnormalized logits of A, start and priors, and the log-probabilities derived from them; -inf: impossible.
struct StateLogits {
  std::vector<double> transitions, start, prior;  ///< [n x n], [n], [n]
};
struct StateLogProbabilities {
  std::vector<double> transitions, start, prior;  ///< log a, log pi, log q

  StateLogProbabilities(const LabelStates& states, const StateLogits& logits);
  /// Returns the scores of a chain whose emissions are the signal; the priors are included in the transitions into a
  /// state.
  ChainScores scores(const LabelStates& states) const;
};

/// Converts gradients with respect to log-probabilities into gradients with respect to logits: d - share * (sum of d),
/// row by row, in place.
void through_shares(std::span<const double> log_shares, Index rows, std::span<double> slopes);

/// Returns a state path for the given labels: each sequence of equal labels is divided evenly among the states of the
/// label, in order. kNoSymbol where the label is missing.
std::vector<Symbol> even_path(const LabelStates& states, std::span<const Symbol> labels);

}  // namespace unfold
