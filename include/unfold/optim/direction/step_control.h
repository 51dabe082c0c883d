#pragma once
/// Controls choose the step length along a direction and decide whether a step is accepted.

#include <memory>
#include <optional>

#include "unfold/optim/direction/direction.h"
#include "unfold/optim/direction/objective.h"

namespace unfold {

/// The result of a step of a curvature-based optimizer (hf, natural).
struct CurvatureReport {
  double damping = 0;     ///< lambda of this step
  double ratio = 0;       ///< rho: decrease of the loss divided by the decrease predicted by the quadratic model
  Index iterations = 0;   ///< number of conjugate gradient iterations
  Index kept = 0;         ///< number of the iteration whose iterate was selected
  double length = 0;      ///< step length that the line search chose along this iterate; 0: no step was taken
  double loss_after = 0;  ///< loss after the step, on the same batch
};

struct StepReport {
  double loss = 0;           ///< nats per predicted symbol, before the step
  double gradient_norm = 0;  ///< before clipping
  double rate = 0;           ///< learning rate that was used
  bool converged = false;    ///< the optimizer has converged; set only by optimizers that have a convergence criterion
  bool finite = true;        ///< false: loss or gradient is not finite, and the parameters are unchanged
  std::optional<CurvatureReport> curvature = {};
};

template <class T>
class Control {
 public:
  virtual ~Control() = default;
  /// Takes one step from the objective's parameters with the scheduled learning rate.
  virtual StepReport step(Objective<T>& objective, Direction<T>& direction, double rate) = 0;
  /// Called once before the first step and before `visit_state`. Throws UsageError for a network that it cannot train.
  virtual void attach(Objective<T>&) {}
  virtual void visit_state(StateVisitor<T>& visitor) = 0;
  /// Called if the direction keeps only the slices of this process (Direction::keep_slices): from then on, steps work
  /// on slices.
  virtual void keep_slices(const Slices& /*slices*/) {}
};

/// Returns a control that always uses the scheduled learning rate. A gradient whose norm over all parameters exceeds
/// `clip` is scaled down to `clip` (0: no clipping).
template <class T>
std::unique_ptr<Control<T>> fixed_control(Index parameters, double clip);

/// Returns the norm of a vector. The work is divided among a team; the result is bit-identical for every team size.
template <class T>
double global_norm(Team& team, std::span<const T> vector);

}  // namespace unfold
