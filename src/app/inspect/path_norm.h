#pragma once
/// The path norm of a model (graph/paths/path_pass.h).

#include <string>

#include "unfold/base/types.h"

namespace unfold {

/// gamma^2 of a network with positively homogeneous units, such as ReLU: the sum of the products of squared weights
/// over all paths from inputs and biases to the outputs, in the unfolding over `steps` positions (docs/path.md). If
/// every value is predicted once per sequence, paths end at the last position.
struct PathNorm {
  Index steps = 0;
  double value = 0;      ///< infinite if it exceeds the range of double
  double logarithm = 0;  ///< natural logarithm of the value
};
/// `model` is a run folder or model file. Throws ModelError, and UsageError for a model that is not a network or has
/// other units.
PathNorm path_norm(const std::string& model, Index steps);

}  // namespace unfold
