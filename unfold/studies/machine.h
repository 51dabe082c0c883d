#pragma once
/// The floor of this machine: what no program can go below, measured with the instructions that the kernels use.

#include "unfold/base/team.h"

namespace unfold {

struct Floor {
  double flops = 0;              ///< floating-point operations per second, float, a fused multiply-add counting two
  double bytes_from_l2 = 0;      ///< bytes read per second by every thread from 256 KiB of its own
  double bytes_from_memory = 0;  ///< bytes read per second from memory, all threads together
  double processors = 1;         ///< share of the time for which the threads had them meanwhile; others had the rest
};

/// Wall-clock seconds of a monotonic clock.
double seconds_now();
/// Seconds for which this thread had a processor: what others use of the machine does not count.
double processor_seconds_now();

/// Takes about half a second. By the clock of processors for a team of one only.
Floor measure_floor(Team& team, double (*clock)() = seconds_now);

/// Seconds in which one thread reads so many floats once, from whichever cache they fit in: best of many times.
double seconds_to_read(Index floats);

/// Seconds that one thread needs for a line of memory at a random place among so many bytes, of lines that do not wait
/// for each other: best of many times.
double seconds_to_fetch_a_line(Index bytes, double (*clock)() = seconds_now);

}  // namespace unfold
