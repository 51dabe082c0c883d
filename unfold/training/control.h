#pragma once
/// Controls: how far to go along a direction, and whether to keep the step.

#include <memory>

#include "unfold/training/direction.h"
#include "unfold/training/objective.h"

namespace unfold {

struct StepReport {
  double loss = 0;           ///< nats per predicted symbol, before the step
  double gradient_norm = 0;  ///< before clipping
  double rate = 0;           ///< the one used
  bool finite = true;        ///< false: loss or gradient is not finite, and nothing was moved
};

template <class T>
class Control {
 public:
  virtual ~Control() = default;
  /// One step from the objective's parameters at the scheduled rate.
  virtual StepReport step(Objective<T>& objective, Direction<T>& direction, double rate) = 0;
  virtual void visit_state(StateVisitor<T>& visitor) = 0;
};

/// Always the scheduled rate. A gradient whose norm over all parameters exceeds `clip` is scaled down to it (0: never).
template <class T>
std::unique_ptr<Control<T>> fixed_control(Index parameters, double clip);

/// The norm of a vector, divided over a team; the same bits for every team size.
template <class T>
double global_norm(Team& team, std::span<const T> vector);

}  // namespace unfold
