#pragma once
/// Internal: forward and backward recursions of several chains side by side, using probabilities rescaled at every
/// position: one matrix product per step and one exponential per score. This is possible only for scores that are close
/// enough together that no relevant term underflows (kSpread); other chains are handled by chain.h.
///
/// The rows belong to chains that are adjacent in the sorted order of a batch (graph/structure/structure.h): chain k of
/// the block is place first + k. The results of a chain do not depend on the other chains.

#include <vector>

#include "loss/crf/chain.h"
#include "unfold/graph/structure/structure.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// The exponentials of the transition scores.
class ScaledTransitions {
 public:
  /// Impossible scores (-inf) become 0.
  explicit ScaledTransitions(const ChainScores& scores);
  /// Returns whether the finite scores lie within kSpread of each other, separately for transitions, start and stop.
  bool suits() const { return suits_; }

  /// Largest difference of scores that are compared with each other. A prefix that underflows is smaller than another
  /// prefix by a factor of 10^-308. If every label can reach every other label within two steps, as in all label
  /// schemes, later positions can change this ratio only by the factor that two positions and two steps allow, exp(6
  /// kSpread) = 10^156.
  static constexpr double kSpread = 60;

  Index labels() const { return labels_; }
  double weight(Index i, Index j) const { return weights_[at(i * labels_ + j)]; }
  const PackedMatrix<double>& forward() const { return forward_; }
  const PackedMatrix<double>& backward() const { return backward_; }
  /// Padded with zeros to a multiple of the lanes, like the columns of the two matrices above.
  const std::vector<double>& start() const { return start_; }
  const std::vector<double>& stop() const { return stop_; }

 private:
  Index labels_;
  bool suits_;
  std::vector<double> weights_, start_, stop_;
  PackedMatrix<double> forward_, backward_;
};

class ChainBlock {
 public:
  /// Sets up the block for places [first, first + count) of a batch of chains.
  void lay(const Structure& structure, Index first, Index count, Index labels);
  Index rows() const { return offsets_.back(); }
  Index chains() const { return count_; }
  Index labels() const { return labels_; }
  Index length(Index chain) const { return lengths_[at(chain)]; }
  /// Returns the number of chains that have a position t; these are the first chains.
  Index running(Index t) const { return offsets_[at(t + 1)] - offsets_[at(t)]; }
  /// Return the row in the batch and the row in the block.
  Index outer(Index chain, Index t) const { return begins_[at(t)] + chain; }
  Index inner(Index chain, Index t) const { return offsets_[at(t)] + chain; }

  /// Sets the label of a chain at t, which is in the alphabet. Chains with a missing label are not suitable.
  void take_label(Index chain, Index t, Symbol label) {
    row_labels_[at(inner(chain, t))] = label == kNoSymbol ? 0 : label;
    if (label == kNoSymbol) suits_[at(chain)] = 0;
  }
  /// Runs both recursions over the emissions. If `slopes` is not empty, its rows of the batch are set to factor (p(y_t
  /// = j) - 1 where j is the label). Marks a chain as unsuitable if its scores at some position are too far apart or
  /// not finite, or if a label has probability 0. The gradients of such a chain are unspecified. If `slopes` and the
  /// signal share memory, the rows of the chain still contain the signal.
  template <class T>
  void run(const ScaledTransitions& neighbors, Matrix<const T> signal, double factor, Matrix<T> slopes);
  bool suits(Index chain) const { return suits_[at(chain)] != 0; }

  /// After `run`, for suitable chains, at the block's row r = inner(chain, t): the label y; p(y | previous label,
  /// signal); p(y_t = j) = ahead(r)[j] * behind(r)[j].
  Symbol label(Index row) const { return row_labels_[at(row)]; }
  const double* shares() const { return share_.data(); }
  const double* ahead(Index row) const { return alpha_.data() + row * stride_; }
  const double* behind(Index row) const { return beta_.data() + row * stride_; }
  /// sum [labels x labels] += the sum of p(y_{t-1} = i, y_t = j) over positions t > 0 of the suitable chains.
  /// Overwrites their values.
  void add_pairs(const ScaledTransitions& neighbors, double* sum);

 private:
  /// Views of the rows of a step, and of the preceding rows from which the chains continue. Built in advance because a
  /// product that reads a view just written to memory has to wait for the store.
  struct Step {
    Matrix<double> alpha, beta, weight;                 // [running x stride]
    Matrix<const double> alpha_before, weight_to_here;  // [running x labels]
    Matrix<double> beta_before;                         // [running x stride]
  };
  Matrix<double> rows_of(Buffer<double>& of, Index t, Index chains, Index cols) {
    return {of.data() + offsets_[at(t)] * stride_, chains, cols, stride_};
  }
  Index steps() const { return static_cast<Index>(steps_.size()); }
  /// p(y_{t-1} = i, y_t = j) = ahead(r')[i] weight(i, j) entering(r)[j], where r' is the preceding row.
  const double* entering(Index row) const { return weight_.data() + row * stride_; }
  void make_room();
  template <class T>
  void keep(Matrix<const T> signal);
  template <class T>
  void give_back(Index chain, Matrix<T> signal) const;
  template <class T>
  void go_forward(const ScaledTransitions& neighbors, Matrix<const T> signal);
  template <class T>
  void go_backward(const ScaledTransitions& neighbors, double factor, Matrix<T> slopes);
  void end_chain(Index row, const std::vector<double>& stop);
  void judge_labels(const ScaledTransitions& neighbors, Index t, Index later);

  Index count_ = 0, labels_ = 0, stride_ = 0;
  std::vector<Index> lengths_, offsets_, begins_;  // length of each chain; rows before each step; first batch row of
                                                   // each step
  std::vector<char> suits_, fits_;
  std::vector<Step> steps_;
  std::vector<unsigned char> kept_;               // a copy of the signal, if slopes and signal share memory
  std::vector<Symbol> row_labels_;                // labels by row
  std::vector<double> scale_, share_, expected_;  // numbers by row
  Buffer<double> alpha_, beta_, weight_;          // [rows x stride]; alpha and beta are 0 beyond the labels of a row
  std::vector<double> pairs_;                     // [labels x stride]
};

}  // namespace unfold
