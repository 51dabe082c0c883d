#pragma once
/// Internal: connectionist temporal classification of one chain (Graves, Fernandez, Gomez & Schmidhuber 2006), in
/// double and by logarithms.
///
/// A path says a symbol at every position: one of n labels, or the blank, number n. Repetitions that follow each other
/// are taken together, then blanks are taken away: the path a a - a b b says a a b. p(labels) is the sum of the
/// probabilities of all paths that say them. With l the labels with a blank before, between and behind them,
///
///   alpha_t(s) = p_t(l_s) (alpha_{t-1}(s) + alpha_{t-1}(s-1) + [l_s no blank, l_s != l_{s-2}] alpha_{t-1}(s-2))

#include <span>
#include <vector>

#include "unfold/markov/chain.h"

namespace unfold {

struct UnsegmentedSearch {
  Index beam = 1;  ///< beginnings kept at each position; 1: the best symbol of each position, collapsed
  Index best = 1;  ///< answers, at most `beam`
};

/// The positions that labels need: one each, and one between two that are equal.
Index ctc_positions_needed(std::span<const Symbol> labels);

class CtcLattice {
 public:
  /// log_p [positions x (labels + 1)]: logarithms of the probabilities of symbols, position by position. Both are
  /// referred to.
  CtcLattice(Matrix<const double> log_p, std::span<const Symbol> labels);

  /// log p(labels); -inf where they do not fit.
  double forward();
  /// out[t][k] = p(the path says k at t | labels). REQUIRES `forward`, which found it finite.
  void posteriors(Matrix<double> out);
  /// Where each label begins in the most probable path. REQUIRES that the labels fit.
  std::vector<Index> places() const;

 private:
  Index states() const { return 2 * static_cast<Index>(labels_.size()) + 1; }
  Symbol symbol(Index state) const {
    return state % 2 == 0 ? static_cast<Symbol>(log_p_.cols - 1) : labels_[static_cast<std::size_t>(state / 2)];
  }
  /// Whether a path may go on from two states earlier.
  bool skips(Index state) const { return state % 2 == 1 && state >= 3 && symbol(state) != symbol(state - 2); }
  /// States from which the end can be reached, and which can be reached by then.
  Range alive(Index t) const;
  void sum_row(const double* from, bool forwards, double* to);

  Matrix<const double> log_p_;
  std::span<const Symbol> labels_;
  std::vector<double> alpha_, terms_, most_, sums_;
  double log_probability_ = 0;
};

/// Path and search of decoding.
LabelledChain ctc_best_path(Matrix<const double> log_p);
/// Beginnings of answers are extended position by position, and the `beam` most probable ones are kept (Hannun et al.
/// 2014): with all that there are, the answers are exact.
std::vector<LabelledChain> ctc_prefix_search(Matrix<const double> log_p, const UnsegmentedSearch& search);

}  // namespace unfold
