#pragma once
/// What is done to weights in training, beside the gradient.
///
/// Dropped weights (Wan et al. 2013; Merity et al. 2018): every number of a matrix, or every row of it, is 0 in a step
/// with probability `rate`, else its weight times 1 / (1 - rate). One mask for all sequences and positions of a step: a
/// function of (seed, step, name of the parameter, place). The gradient is that of what is left. Nothing is dropped
/// where the network is used or judged.
///
/// Tied weights (Press & Wolf 2017; Inan et al. 2017): two matrices that are each other's transpose. Both lie in the
/// parameters and in the file. They begin as the second one does; the gradient of both is the sum of both gradients,
/// by which optimisers that move number by number (sgd, asgd, rmsprop, adam) keep them equal to the last bit. The norm
/// that `clip` looks at counts them twice.

#include "unfold/losses/network.h"

namespace unfold {

template <class T>
class WeightRules {
 public:
  /// Makes tied parameters equal. Both are referred to.
  WeightRules(const Network<T>& network, Parameters<T>& parameters, std::uint64_t seed, Team& team);

  static bool needed(const Network<T>& network) { return !network.drops.empty() || !network.ties.empty(); }
  /// The parameters as a step sees them; valid until the next call.
  const Parameters<T>& seen(std::uint64_t step);
  /// Of the gradient at what was seen last: the gradient of the parameters.
  void turn(std::span<T> gradient);

 private:
  void draw(const WeightDrop& drop, std::uint64_t step, Matrix<T> mask) const;
  void multiply(std::span<T> values) const;
  void add_up(const WeightTie& tie, std::span<T> gradient) const;

  const Network<T>& network_;
  const Parameters<T>& parameters_;
  Parameters<T> seen_;
  std::uint64_t seed_;
  Team& team_;
  std::vector<Buffer<T>> masks_;  // of each drop
};

}  // namespace unfold
