/// Replaces mpi_launch.cpp in builds without MPI.

#include <cstdlib>
#include <string>

#include "distributed/launch.h"
#include "unfold/base/error.h"

namespace unfold {

Processes& launched_processes() {
  const int count = launch_info_from_environment().all;
  if (count > 1)
    throw UsageError(
        "a launcher has started " + std::to_string(count) +
        " processes, but this build has no MPI support: install libopenmpi-dev and rebuild, or start a single process");
  return single_process();
}

bool mpi_is_initialized() { return false; }
bool wait_for_all_failures() { return true; }
void end_all(int exit_code) { std::_Exit(exit_code); }
void finalize() {}

}  // namespace unfold
