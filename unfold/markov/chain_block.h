#pragma once
/// Internal: the forward and backward recursions of several chains side by side, by probabilities that are scaled at
/// every position: one matrix product a step, one exponential a score. For scores that lie close enough together that
/// nothing underflows which could count later (kSpread); other chains are left to chain.h.
///
/// Rows are those of some chains of a batch that stand side by side among the sorted ones (engine/structure.h): chain k
/// of the block is place first + k. A chain's numbers do not depend on the others.

#include <vector>

#include "unfold/engine/structure.h"
#include "unfold/markov/chain.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// exp of the scores of neighbours.
class ScaledNeighbours {
 public:
  /// Impossible ones (-inf) become 0.
  explicit ScaledNeighbours(const ChainScores& scores);
  /// Finite ones lie within kSpread of each other, for each of the three.
  bool suits() const { return suits_; }

  /// Largest distance of scores that are compared with each other. A beginning of a chain that is forgotten is smaller
  /// than another by 10^-308; what follows can make up for the ratio that two positions and two steps allow,
  /// exp(6 kSpread) = 10^156, where every label can be left for every other within two steps, as in all label schemes.
  static constexpr double kSpread = 60;

  Index labels() const { return labels_; }
  double weight(Index i, Index j) const { return weights_[at(i * labels_ + j)]; }
  const PackedMatrix<double>& forward() const { return forward_; }
  const PackedMatrix<double>& backward() const { return backward_; }
  /// With zeros behind, up to a whole number of lanes, as the columns of the two above.
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
  /// Lays the block over places [first, first + count) of a batch of chains.
  void lay(const Structure& structure, Index first, Index count, Index labels);
  Index rows() const { return offsets_.back(); }
  Index chains() const { return count_; }
  Index labels() const { return labels_; }
  Index length(Index chain) const { return lengths_[at(chain)]; }
  /// Chains that have a position t: the first ones.
  Index running(Index t) const { return offsets_[at(t + 1)] - offsets_[at(t)]; }
  /// Row of the batch, and of the block.
  Index outer(Index chain, Index t) const { return begins_[at(t)] + chain; }
  Index inner(Index chain, Index t) const { return offsets_[at(t)] + chain; }

  /// Takes the label of a chain at t, which is in the alphabet. Chains of which one is missing do not suit.
  void take_label(Index chain, Index t, Symbol label) {
    row_labels_[at(inner(chain, t))] = label == kNoSymbol ? 0 : label;
    if (label == kNoSymbol) suits_[at(chain)] = 0;
  }
  /// Both recursions over the emissions. Where there are `slopes`, their rows of the batch become factor (p(y_t = j) -
  /// 1 where j is the label). Chains whose scores at some position lie too far apart, or are not finite, and those
  /// whose labels have a share that is not above 0 do not suit: their slopes are anything, or, where the slopes lie
  /// where the signal is, still that.
  template <class T>
  void run(const ScaledNeighbours& neighbours, Matrix<const T> signal, double factor, Matrix<T> slopes);
  bool suits(Index chain) const { return suits_[at(chain)] != 0; }

  /// After `run`, of chains that suit, at the block's row r = inner(chain, t): the label y; p(y | label before,
  /// signal); p(y_t = j) = ahead(r)[j] * behind(r)[j].
  Symbol label(Index row) const { return row_labels_[at(row)]; }
  const double* shares() const { return share_.data(); }
  const double* ahead(Index row) const { return alpha_.data() + row * stride_; }
  const double* behind(Index row) const { return beta_.data() + row * stride_; }
  /// sum [labels x labels] += the sum over positions t > 0 of the chains that suit, whose numbers are lost, of
  /// p(y_{t-1} = i, y_t = j).
  void add_pairs(const ScaledNeighbours& neighbours, double* sum);

 private:
  /// The rows of a step, and of those before it which chains go on from. A product that reads a view from memory waits
  /// for the numbers of one just made; these were made long ago.
  struct Step {
    Matrix<double> alpha, beta, weight;                 // [running x stride]
    Matrix<const double> alpha_before, weight_to_here;  // [running x labels]
    Matrix<double> beta_before;                         // [running x stride]
  };
  Matrix<double> rows_of(Buffer<double>& of, Index t, Index chains, Index cols) {
    return {of.data() + offsets_[at(t)] * stride_, chains, cols, stride_};
  }
  Index steps() const { return static_cast<Index>(steps_.size()); }
  /// p(y_{t-1} = i, y_t = j) = ahead(r')[i] weight(i, j) entering(r)[j], r' the row before.
  const double* entering(Index row) const { return weight_.data() + row * stride_; }
  void make_room();
  template <class T>
  void keep(Matrix<const T> signal);
  template <class T>
  void give_back(Index chain, Matrix<T> signal) const;
  template <class T>
  void go_forward(const ScaledNeighbours& neighbours, Matrix<const T> signal);
  template <class T>
  void go_backward(const ScaledNeighbours& neighbours, double factor, Matrix<T> slopes);
  void end_chain(Index row, const std::vector<double>& stop);
  void judge_labels(const ScaledNeighbours& neighbours, Index t, Index later);

  Index count_ = 0, labels_ = 0, stride_ = 0;
  std::vector<Index> lengths_, offsets_, begins_;  // by chain; rows before each step; rows of the batch
  std::vector<char> suits_, fits_;
  std::vector<Step> steps_;
  std::vector<unsigned char> kept_;               // the signal, where slopes are to lie there
  std::vector<Symbol> row_labels_;                // by row
  std::vector<double> scale_, share_, expected_;  // by row
  Buffer<double> alpha_, beta_, weight_;          // [rows x stride]; behind the labels of a row alpha and beta are 0
  std::vector<double> pairs_;                     // [labels x stride]
};

}  // namespace unfold
