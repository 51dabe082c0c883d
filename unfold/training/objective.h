#pragma once
/// What an optimiser sees of a training step: parameters, and the mean loss in nats per predicted symbol of the current
/// batch with its gradient. Curvature products and metrics will join here.

#include <span>
#include <string>

#include "unfold/circuit/parameters.h"
#include "unfold/numerics/team.h"

namespace unfold {

template <class T>
class Objective {
 public:
  virtual ~Objective() = default;
  virtual Parameters<T>& parameters() = 0;
  virtual Team& team() = 0;
  /// The loss at the present parameters; sets `gradient` [parameters].
  virtual double gradient(std::span<T> gradient) = 0;
  /// The loss alone, of the same batch at the present parameters.
  virtual double loss() = 0;
};

}  // namespace unfold
