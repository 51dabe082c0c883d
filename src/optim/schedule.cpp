#include "unfold/optim/schedule.h"

#include <algorithm>

namespace unfold {

double half_cosine(double x) {
  // cos(pi x) = sin(pi (1/2 - x)); the Taylor series on [-pi/2, pi/2] needs 12 terms.
  constexpr double kPi = 3.14159265358979323846;
  const double y = kPi * (0.5 - x);
  double sum = 0;
  for (int n = 23; n >= 3; n -= 2) sum = (1 + sum) * (-(y * y) / (n * (n - 1)));
  return y * (1 + sum);
}

double schedule_factor(const ScheduleOptions& options, const Progress& progress) {
  double factor = 1;
  if (options.kind == ScheduleKind::cosine) {
    const double x = std::clamp(progress.fraction, 0.0, 1.0);
    factor = options.floor + (1 - options.floor) * 0.5 * (1 + half_cosine(x));
  }
  if (progress.step < options.warmup)
    factor *= static_cast<double>(progress.step + 1) / static_cast<double>(options.warmup);
  return factor;
}

}  // namespace unfold
