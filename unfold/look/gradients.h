#pragma once
/// Where what a network says or keeps at a position comes from: the gradient in what every position adds to the
/// network, which is the gradient at the affine maps that read inputs. It is defined alike for symbols and numbers, and
/// for every cell.
///
///   Gradients<float> gradients(watched, team);
///   gradients.read(batch);                                      // forward
///   gradients.adjoint(watched.hidden().back()).row(r)[i] = 1;   // a seed; all others are 0
///   std::vector<std::vector<double>> found = gradients.squares();   // [chain][position]: squared norms

#include <vector>

#include "unfold/data/batch.h"
#include "unfold/look/watched.h"

namespace unfold {

template <class T>
class Gradients {
 public:
  Gradients(const Watched<T>& watched, Team& team);

  /// Runs the network over a batch; chains start from `state`, if there is one, and leave theirs there. All seeds are 0
  /// then.
  void read(const Batch& batch, State<T>* state = nullptr);
  Matrix<const T> value(Signal output) const { return unfolding_.value(output); }
  Matrix<T> adjoint(Signal output) { return unfolding_.adjoint(output); }
  /// Squared norms for each chain and position, of the seeds that were set; these are 0 afterwards.
  std::vector<std::vector<double>> squares();

 private:
  const Watched<T>& watched_;
  Unfolding<T> unfolding_;
  std::vector<T> gradient_;
};

/// A state of n numbers has a gradient of n rows. Up to so many it is found exactly, row by row; otherwise it is
/// estimated by as many random sums of rows with signs, whose squares have the same mean (Hutchinson 1990).
inline constexpr Index kStateSeeds = 64;

/// The seeds for a state of n numbers, one a row: [min(n, kStateSeeds) x n]. The sum of the squares found by all of
/// them is the squared Frobenius norm of the state's gradient, or its estimate.
template <class T>
std::vector<std::vector<T>> state_seeds(Index n, std::uint64_t seed);

}  // namespace unfold
