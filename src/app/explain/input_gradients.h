#pragma once
/// Gradients of outputs or states of a network with respect to each position's contribution to the network, that is,
/// the gradients at the affine maps that read the inputs. They are defined for symbols and numbers and for every cell.
///
///   Gradients<float> gradients(watched, team);
///   gradients.read(batch);                                      // forward
///   gradients.adjoint(watched.hidden().back()).row(r)[i] = 1;   // a seed; all others are 0
///   std::vector<std::vector<double>> found = gradients.squares();   // [chain][position]: squared norms

#include <vector>

#include "app/explain/instrumented_network.h"
#include "unfold/data/text/batch.h"

namespace unfold {

template <class T>
class Gradients {
 public:
  Gradients(const Watched<T>& watched, Team& team);

  /// Runs the network over a batch and sets all seeds to 0. Chains start from `state`, if given, which receives their
  /// final states.
  void read(const Batch& batch, State<T>* state = nullptr);
  Matrix<const T> value(Signal output) const { return unfolding_.value(output); }
  Matrix<T> adjoint(Signal output) { return unfolding_.adjoint(output); }
  /// Returns the squared gradient norms by chain and position for the current seeds, and resets the seeds to 0.
  std::vector<std::vector<double>> squares();
  /// Returns the product of gradient and value, summed over the readers, by chain and position for the current seeds,
  /// and resets the seeds to 0: how much each position adds to the seeded signal, up to first order. In a bag of words
  /// the gradient alone is the same at all positions. REQUIRES a memoryless network.
  std::vector<std::vector<double>> contributions();

 private:
  template <class Use>
  std::vector<std::vector<double>> sums(const Use& use);

  const Watched<T>& watched_;
  Unfolding<T> unfolding_;
  std::vector<T> gradient_;
};

/// The gradient of a state of n numbers has n rows. Up to this size it is computed exactly, row by row. For larger
/// states it is estimated from this number of random signed sums of rows, whose squared norms have the same mean
/// (Hutchinson 1990).
inline constexpr Index kStateSeeds = 64;

/// Returns the seeds for a state of n numbers as rows [min(n, kStateSeeds) x n]. The sum of the squares over all seeds
/// is the squared Frobenius norm of the state's gradient, or an estimate of it.
template <class T>
std::vector<std::vector<T>> state_seeds(Index n, std::uint64_t seed);

}  // namespace unfold
