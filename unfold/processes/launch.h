#pragma once
/// The processes that `mpirun -n K unfold ...` starts. Whether this build knows MPI is decided by what is linked:
/// mpi_processes.cpp, the only file that includes mpi.h, or no_mpi.cpp.

#include "unfold/processes/processes.h"

namespace unfold {

/// All that were started together with this process; this one alone where nothing says that there are others.
/// UsageError: there are others, and this build has no MPI. The first call joins them, which takes a moment.
Processes& launched_processes();

/// Whether `launched_processes` has joined others.
bool joined_others();
/// To be called by a process whose work has failed, after which it may only end: waits a moment for all others to do
/// the same. False: they do not, and would wait for this one for ever. REQUIRES joined_others().
bool all_have_failed();
/// Ends all processes at once, with this exit code. REQUIRES joined_others().
[[noreturn]] void end_all(int exit_code);
/// To be called before an end in good order. Harmless where there are no others.
void part_from_others();

/// How many processes the environment says that a launcher has started, and on this machine, 1 where it says nothing;
/// and which of them this is.
struct LaunchedCount {
  int all = 1, here = 1, number = 0;
};
LaunchedCount count_in_environment();

}  // namespace unfold
