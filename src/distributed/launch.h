#pragma once
/// Processes started with `mpirun -n K unfold ...`. Whether a build supports MPI is decided at link time: it contains
/// either mpi_launch.cpp, the only file that includes mpi.h, or no_mpi_launch.cpp.

#include "unfold/distributed/processes.h"

namespace unfold {

/// Returns all processes that were started together with this one, or only this process if the environment does not
/// mention others. Throws UsageError if there are other processes and this build has no MPI. The first call initializes
/// MPI, which takes a moment.
Processes& launched_processes();

/// Returns whether `launched_processes` has initialized MPI.
bool mpi_is_initialized();
/// Called by a process whose work has failed and that can only exit: waits a few seconds for all other processes to
/// fail as well. Returns false if they do not fail; they would then wait for this process forever. REQUIRES:
/// mpi_is_initialized().
bool wait_for_all_failures();
/// Terminates all processes at once, with this exit code. REQUIRES: mpi_is_initialized().
[[noreturn]] void end_all(int exit_code);
/// Called before a normal exit. Does nothing if there are no other processes.
void finalize();

/// The number of processes in total and on this machine (1 if it is not set) and the rank of this process, according to
/// the environment of the launcher.
struct LaunchInfo {
  int all = 1, here = 1, number = 0;
};
LaunchInfo launch_info_from_environment();

}  // namespace unfold
