#pragma once
/// Weight dropout and weight tying in training.
///
/// Weight dropout (DropConnect, Wan et al. 2013; Merity et al. 2018): in each step, every element (or every row) of a
/// matrix is set to 0 with probability `rate`, and otherwise multiplied by 1 / (1 - rate). All sequences and positions
/// of a step use the same mask, a function of (seed, step, parameter name, index). Only the remaining weights have a
/// gradient. Nothing is dropped in prediction and evaluation.
///
/// Weight tying (Press & Wolf 2017; Inan et al. 2017): two matrices are kept as transposes of each other. Both are
/// stored in the parameters and in the file. Both start with the initial value of the second matrix, and the gradient
/// of each is the sum of both gradients; element-wise optimizers (sgd, asgd, rmsprop, adam) therefore keep them
/// bit-identical. The norm that `clip` uses counts the weights twice.

#include "unfold/loss/network.h"

namespace unfold {

template <class T>
class WeightRules {
 public:
  /// Makes tied parameters equal. Keeps references to both arguments.
  WeightRules(const Network<T>& network, Parameters<T>& parameters, std::uint64_t seed, Team& team);

  static bool needed(const Network<T>& network) { return !network.drops.empty() || !network.ties.empty(); }
  /// Returns the parameters used in a step; valid until the next call.
  const Parameters<T>& seen(std::uint64_t step);
  /// Converts the gradient at the parameters last returned by `seen` into the gradient of the parameters.
  void turn(std::span<T> gradient);

 private:
  void draw(const WeightDropout& drop, std::uint64_t step, Matrix<T> mask) const;
  void multiply(std::span<T> values) const;
  void add_up(const WeightTie& tie, std::span<T> gradient) const;

  const Network<T>& network_;
  const Parameters<T>& parameters_;
  Parameters<T> seen_;
  std::uint64_t seed_;
  Team& team_;
  std::vector<Buffer<T>> masks_;  // mask of each WeightDropout
};

}  // namespace unfold
