#pragma once
/// The floor of this machine: what no program can go below, measured with the instructions that the kernels use.

#include "unfold/base/team.h"

namespace unfold {

struct Floor {
  double flops = 0;              ///< floating-point operations per second, float, a fused multiply-add counting two
  double bytes_from_l2 = 0;      ///< bytes read per second by every thread from 256 KiB of its own
  double bytes_from_memory = 0;  ///< bytes read per second from memory, all threads together
};

/// Takes about half a second.
Floor measure_floor(Team& team);

/// Seconds in which one thread reads so many floats once, from whichever cache they fit in: best of many times.
double seconds_to_read(Index floats);

/// Wall-clock seconds of a monotonic clock.
double seconds_now();

}  // namespace unfold
