#pragma once
/// Internal: hidden states behind labels. Each label has `each` states, state l * each + k being the k-th of label l,
/// and a chain over all states has normalised probabilities of steps:
///
///   log a(i, j) = A_ij - log sum over j' that may follow i of exp A_ij',     log pi(j), log q(j) in the same way
///
/// pi: of the first state, q: priors, how often a state occurs. The score of a path s of states over a signal o is
///
///   sum_t o_t[s_t] - log q(s_t)  +  log pi(s_1) + sum_{t>1} log a(s_{t-1}, s_t)

#include <span>
#include <vector>

#include "unfold/markov/chain.h"

namespace unfold {

enum class StateOrder {
  any,     ///< every state may follow every other
  forward  ///< a label is entered at its first state; then come the same one again or the next; it is left from any
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

/// A, the start and the priors as numbers that anything may be, and what they stand for; -inf: cannot be.
struct StateLogits {
  std::vector<double> transitions, start, prior;  ///< [n x n], [n], [n]
};
struct StateShares {
  std::vector<double> transitions, start, prior;  ///< log a, log pi, log q

  StateShares(const LabelStates& states, const StateLogits& logits);
  /// Of a chain whose emissions are the signal alone: priors are in the steps that lead to a state.
  ChainScores scores(const LabelStates& states) const;
};

/// Slopes in the logits from slopes in their log shares: d - share * (sum of d), row by row, in place.
void through_shares(std::span<const double> log_shares, Index rows, std::span<double> slopes);

/// A path of states for given labels: each run of a label is divided evenly among its states, in their order.
/// kNoSymbol where no label is known.
std::vector<Symbol> even_path(const LabelStates& states, std::span<const Symbol> labels);

}  // namespace unfold
