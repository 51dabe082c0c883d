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
  Index length(Index chain) const { return lengths_[at(chain)]; }
  /// Chains that have a position t: the first ones.
  Index running(Index t) const { return offsets_[at(t + 1)] - offsets_[at(t)]; }
  /// Row of the batch, and of the block.
  Index outer(Index chain, Index t) const { return begins_[at(t)] + chain; }
  Index inner(Index chain, Index t) const { return offsets_[at(t)] + chain; }

  /// Takes the labels, which must be in the alphabet, by rows of the batch. Chains of which one is missing do not suit.
  void take_labels(const Symbol* labels);
  /// Takes the emissions. Chains whose scores at some position lie too far apart, or are not finite, do not suit.
  template <class T>
  void load(Matrix<const T> signal);
  /// Both recursions. Chains whose labels have a share that is not above 0 do not suit.
  void run(const ScaledNeighbours& neighbours);
  bool suits(Index chain) const { return suits_[at(chain)] != 0; }

  /// After `run`, of chains that suit, at the block's row r = inner(chain, t): the label y; p(y | label before,
  /// signal); p(y_t = j) = ahead(r)[j] * behind(r)[j], and that of y.
  Symbol label(Index row) const { return row_labels_[at(row)]; }
  const double* shares() const { return share_.data(); }
  const double* ahead(Index row) const { return alpha_.data() + row * stride_; }
  const double* behind(Index row) const { return beta_.data() + row * stride_; }
  double expected(Index row) const { return expected_[at(row)]; }
  /// Rows of the batch at step t that are those of chains that suit: factor p(y_t = j).
  template <class T>
  void put_expected(Index t, double factor, Matrix<T> out);
  /// sum [labels x labels] += the sum over positions t > 0 of the chains that suit, whose numbers are lost, of
  /// p(y_{t-1} = i, y_t = j).
  void add_pairs(const ScaledNeighbours& neighbours, double* sum);

 private:
  Matrix<double> step(Buffer<double>& of, Index t, Index chains) {
    return {of.data() + offsets_[at(t)] * stride_, chains, labels_, stride_};
  }
  Index steps() const { return static_cast<Index>(offsets_.size()) - 1; }
  Matrix<double> padded(Buffer<double>& of, Index t, Index chains) {
    return {of.data() + offsets_[at(t)] * stride_, chains, stride_, stride_};
  }
  /// p(y_{t-1} = i, y_t = j) = ahead(r')[i] weight(i, j) entering(r)[j], r' the row before.
  const double* entering(Index row) const { return weight_.data() + row * stride_; }
  void make_room();
  void go_forward(const ScaledNeighbours& neighbours);
  void go_backward(const ScaledNeighbours& neighbours);
  void end_chain(Index row, const std::vector<double>& stop);
  void judge_labels(const ScaledNeighbours& neighbours, Index t, Index later);

  Index count_ = 0, labels_ = 0, stride_ = 0;
  std::vector<Index> lengths_, offsets_, begins_;  // by chain; rows before each step; rows of the batch
  std::vector<char> suits_;
  bool all_suit_ = false;
  std::vector<Symbol> own_;                       // 0, 1, ...: each chain of a step has its own row of weights
  std::vector<Symbol> row_labels_;                // by row
  std::vector<double> scale_, share_, expected_;  // by row
  Buffer<double> alpha_, beta_, weight_;          // [rows x stride]; behind the labels of a row alpha and beta are 0
  std::vector<double> pairs_;                     // [labels x stride]
};

}  // namespace unfold
