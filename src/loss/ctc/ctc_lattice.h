#pragma once
/// Internal: connectionist temporal classification (CTC) of one chain (Graves, Fernandez, Gomez & Schmidhuber 2006), in
/// double precision and log space.
///
/// A path has a symbol at every position: one of n labels, or the blank, number n. Its labels are obtained by merging
/// consecutive repetitions and then removing blanks: the path a a - a b b has the labels a a b. p(labels) is the sum of
/// the probabilities of all paths with these labels. Let l be the labels with a blank before, between and after them.
/// Then
///
///   alpha_t(s) = p_t(l_s) (alpha_{t-1}(s) + alpha_{t-1}(s-1) + [l_s not blank, l_s != l_{s-2}] alpha_{t-1}(s-2))

#include <span>
#include <vector>

#include "loss/crf/chain.h"

namespace unfold {

struct UnsegmentedSearch {
  Index beam = 1;  ///< prefixes kept at each position; 1: the best symbol of each position, collapsed
  Index best = 1;  ///< number of results, at most `beam`
};

/// Returns the number of positions that the labels need: one per label, plus one between two adjacent equal labels.
Index ctc_positions_needed(std::span<const Symbol> labels);

class CtcLattice {
 public:
  /// log_p [positions x (labels + 1)]: log-probabilities of the symbols at each position. Keeps references to both.
  CtcLattice(Matrix<const double> log_p, std::span<const Symbol> labels);

  /// Returns log p(labels); -inf if the labels do not fit into the positions.
  double forward();
  /// out[t][k] = p(the path has symbol k at t | labels). REQUIRES `forward` with a finite result.
  void posteriors(Matrix<double> out);
  /// Returns the position at which each label begins in the most probable path. REQUIRES that the labels fit.
  std::vector<Index> places() const;

 private:
  Index states() const { return 2 * static_cast<Index>(labels_.size()) + 1; }
  Symbol symbol(Index state) const {
    return state % 2 == 0 ? static_cast<Symbol>(log_p_.cols - 1) : labels_[static_cast<std::size_t>(state / 2)];
  }
  /// Returns whether a path may enter the state from two states earlier.
  bool skips(Index state) const { return state % 2 == 1 && state >= 3 && symbol(state) != symbol(state - 2); }
  /// Returns the states at t that are reachable from the start and from which the end is reachable.
  Range alive(Index t) const;
  void sum_row(const double* from, bool forwards, double* to);

  Matrix<const double> log_p_;
  std::span<const Symbol> labels_;
  std::vector<double> alpha_, terms_, most_, sums_;
  double log_probability_ = 0;
};

/// Best-path decoding.
ScoredLabeling ctc_best_path(Matrix<const double> log_p);
/// Prefix beam search: prefixes are extended position by position, and the `beam` most probable prefixes are kept
/// (Hannun et al. 2014). The results are exact if the beam holds all prefixes.
std::vector<ScoredLabeling> ctc_prefix_search(Matrix<const double> log_p, const UnsegmentedSearch& search);

}  // namespace unfold
