#pragma once
/// Tasks of real series, on which reservoirs are measured (tasks/tasks.h): something to predict at every step, exactly,
/// from all that was read. In the first `skip` steps nothing is predicted: what was before the begin is not known.

#include <vector>

#include "unfold/tasks/tasks.h"

namespace unfold {

/// u uniform on [0, 0.5); y_{t+1} = 0.3 y_t + 0.05 y_t (y_t + .. + y_{t-9}) + 1.5 u_{t-9} u_t + 0.1 from zero; u_t is
/// read and y_{t+1} predicted. Atiya & Parlos 2000, order 10. A rare sequence that leaves [0, 1) is drawn again.
struct NarmaOptions {
  Index length = 2000;
  Index skip = 100;
};
std::unique_ptr<Task> narma(const NarmaOptions& options = {});

/// x' = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x, sampled at every unit of time and squashed, tanh(x - 1); read and
/// predicted one step ahead. Mackey & Glass 1977; Jaeger & Haas 2004. The history before the first moment is constant,
/// drawn from [1.1, 1.3); the first 1000 units are left out. Runge-Kutta 4 with steps of 1/10, the delayed value
/// between two of them by cubic interpolation.
struct MackeyGlassOptions {
  Index length = 2000;
  Index skip = 100;
  double tau = 17;  ///< a multiple of 1/10
};
std::unique_ptr<Task> mackey_glass(const MackeyGlassOptions& options = {});
/// The same series in double, from the constant history given.
std::vector<double> mackey_glass_series(Index length, double tau, double history);

/// u uniform on [-1, 1) is read; u_{t-1} .. u_{t-delays} are predicted, where they were read. Jaeger 2001.
struct DelayLineOptions {
  Index length = 2000;
  Index skip = 100;
  Index delays = 20;
};
std::unique_ptr<Task> delay_line(const DelayLineOptions& options = {});

}  // namespace unfold
