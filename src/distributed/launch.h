#pragma once
/// Processes started with `mpirun -n K unfold ...`. Whether a build supports MPI is decided at link time: it contains
/// either mpi_processes.cpp, the only file that includes mpi.h, or no_mpi.cpp.

#include "distributed/processes.h"

namespace unfold {

/// Returns all processes that were started together with this one, or only this one if the environment does not mention
/// others. Throws UsageError if there are others and this build has no MPI. The first call initializes MPI, which takes
/// a moment.
Processes& launched_processes();

/// Returns whether `launched_processes` has initialized MPI.
bool joined_others();
/// Called by a process whose work has failed and that can only exit: waits a few seconds for all other processes to
/// fail, too. Returns false if they do not, and would wait for this process forever. REQUIRES: joined_others().
bool all_have_failed();
/// Terminates all processes at once, with this exit code. REQUIRES: joined_others().
[[noreturn]] void end_all(int exit_code);
/// Called before a regular exit. Does nothing if there are no other processes.
void part_from_others();

/// The number of processes according to the environment of the launcher, in total and on this machine (1 if it is not
/// set), and the rank of this process.
struct LaunchedCount {
  int all = 1, here = 1, number = 0;
};
LaunchedCount count_in_environment();

}  // namespace unfold
