#pragma once
/// Real-valued time-series tasks, the usual benchmarks of reservoir computing (data/tasks/tasks.h). At every step, the
/// value to predict is an exact function of the inputs so far. The first `skip` steps have no target, because values
/// before the beginning are unknown.

#include <vector>

#include "unfold/data/tasks/tasks.h"

namespace unfold {

/// NARMA of order 10 (Atiya & Parlos 2000): u uniform on [0, 0.5); y_{t+1} = 0.3 y_t + 0.05 y_t (y_t + .. + y_{t-9}) +
/// 1.5 u_{t-9} u_t + 0.1 from zero. u_t is the input and y_{t+1} the target. Sequences that leave [0, 1), which are
/// rare, are drawn again.
struct NarmaOptions {
  Index length = 2000;
  Index skip = 100;
};
std::unique_ptr<Task> narma(const NarmaOptions& options = {});

/// Mackey-Glass: x' = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x, sampled at unit intervals and squashed by tanh(x -
/// 1); the task is one-step-ahead prediction. Mackey & Glass 1977; Jaeger & Haas 2004. The initial history is constant,
/// drawn from [1.1, 1.3); the first 1000 time units are discarded. Integrated by Runge-Kutta 4 with step 1/10; delayed
/// values between steps are found by cubic interpolation.
struct MackeyGlassOptions {
  Index length = 2000;
  Index skip = 100;
  double tau = 17;  ///< a multiple of 1/10
};
std::unique_ptr<Task> mackey_glass(const MackeyGlassOptions& options = {});
/// Returns the same series in double precision, starting from the given constant history.
std::vector<double> mackey_glass_series(Index length, double tau, double history);

/// u uniform on [-1, 1) is the input; u_{t-1} .. u_{t-delays} are the targets, where they exist. Jaeger 2001.
struct DelayLineOptions {
  Index length = 2000;
  Index skip = 100;
  Index delays = 20;
};
std::unique_ptr<Task> delay_line(const DelayLineOptions& options = {});

}  // namespace unfold
