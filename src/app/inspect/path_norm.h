#pragma once
/// The path norm of a model (graph/paths/path_pass.h).

#include <string>

#include "unfold/base/types.h"

namespace unfold {

/// gamma^2 of a network with positively homogeneous units, such as ReLU: the sum of the products of squared weights
/// over all paths from inputs and biases to the outputs, in the unfolding over one example of the size `steps`
/// (docs/path.md): a sequence of that many positions, the target and the source of a pair, every word's characters, a
/// balanced tree with that many leaves, a square grid with that many rows. Paths to a field that is predicted once per
/// example end at the last position, the root or the last corner.
struct PathNorm {
  Index steps = 0;
  double value = 0;      ///< infinite if it exceeds the range of double
  double logarithm = 0;  ///< natural logarithm of the value
};
/// `model` is a run folder or model file. Throws ModelError, UsageError for a model that is not a network or has
/// other units, and DivergedError if the sums overflow.
PathNorm path_norm(const std::string& model, Index steps);

}  // namespace unfold
