#pragma once
/// Controls: how far to go along a direction, and whether to keep the step.

#include <memory>
#include <optional>

#include "unfold/optim/direction.h"
#include "unfold/optim/objective.h"

namespace unfold {

/// What a step by curvature did (hessian_free.h).
struct CurvatureReport {
  double damping = 0;     ///< lambda of this step
  double ratio = 0;       ///< rho: fall of the loss over the fall that the quadratic model foretold
  Index iterations = 0;   ///< of conjugate gradients
  Index kept = 0;         ///< the iteration whose iterate was taken
  double length = 0;      ///< of the line search, of that iterate; 0: no step was taken
  double loss_after = 0;  ///< on the same batch
};

struct StepReport {
  double loss = 0;           ///< nats per predicted symbol, before the step
  double gradient_norm = 0;  ///< before clipping
  double rate = 0;           ///< the one used
  bool converged = false;    ///< nothing is left to be done; an optimiser that knows such an end says so
  bool finite = true;        ///< false: loss or gradient is not finite, and nothing was moved
  std::optional<CurvatureReport> curvature = {};
};

template <class T>
class Control {
 public:
  virtual ~Control() = default;
  /// One step from the objective's parameters at the scheduled rate.
  virtual StepReport step(Objective<T>& objective, Direction<T>& direction, double rate) = 0;
  /// Called once before the first step and before `visit_state`. Throws UsageError for a network that it cannot train.
  virtual void attach(Objective<T>&) {}
  virtual void visit_state(StateVisitor<T>& visitor) = 0;
  /// The direction keeps the slices of this process (Direction::keep_slices): steps are taken in slices from now on.
  virtual void keep_slices(const Slices& /*slices*/) {}
};

/// Always the scheduled rate. A gradient whose norm over all parameters exceeds `clip` is scaled down to it (0: never).
template <class T>
std::unique_ptr<Control<T>> fixed_control(Index parameters, double clip);

/// The norm of a vector, divided over a team; the same bits for every team size.
template <class T>
double global_norm(Team& team, std::span<const T> vector);

}  // namespace unfold
