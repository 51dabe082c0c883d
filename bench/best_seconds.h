#pragma once
/// Timing by the minimum over several repetitions, which is least affected by other load. By default, CPU time is
/// measured.

#include <algorithm>
#include <ctime>

namespace unfold {

inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns the minimum duration of `body`.
template <class Body>
double best_seconds(double seconds, const Body& body, clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  double best = 1e9;
  for (const double begin = seconds_of(clock); seconds_of(clock) - begin < seconds;) {
    const double start = seconds_of(clock);
    body();
    best = std::min(best, seconds_of(clock) - start);
  }
  return best;
}

}  // namespace unfold
