#pragma once
/// Measurement of the peak performance of this machine, with the instructions that the kernels use. The peak
/// performance gives a lower bound for running times.

#include "unfold/base/threads/team.h"

namespace unfold {

struct Floor {
  double flops = 0;              ///< float operations per second; a fused multiply-add counts as two
  double bytes_from_l2 = 0;      ///< bytes per second that each thread reads from its own 256 KiB
  double bytes_from_memory = 0;  ///< bytes per second read from memory by all threads together
  double processors = 1;         ///< fraction of the measuring time for which the threads had a processor
};

/// Returns the seconds of a monotonic wall clock.
double seconds_now();
/// CPU time of this thread in seconds; excludes time taken by other processes.
double processor_seconds_now();

/// Takes about half a second. A CPU-time clock requires a team of one thread.
Floor measure_peak_rates(Team& team, double (*clock)() = seconds_now);

/// Returns the seconds for one thread to read this number of floats once, from the cache that they fit into; the
/// minimum over many repetitions.
double seconds_to_read(Index floats);

/// Returns the seconds per random access to a cache line within this number of bytes by one thread, where accesses are
/// independent of each other; the minimum over many repetitions.
double seconds_to_fetch_a_line(Index bytes, double (*clock)() = seconds_now);

}  // namespace unfold
