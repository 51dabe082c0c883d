#pragma once
/// Distribution of independent pieces of work over processes that share a folder: child processes on this machine
/// (`jobs`), or the processes of `mpirun`. Each process goes through the pieces in order and processes all pieces that
/// no other process has claimed; the threads of a process do the same. A claim is a kernel lock, which is released when
/// its process ends. If a process dies, another one repeats its piece, starting from the last checkpoint if there is
/// one.

#include <functional>
#include <span>
#include <string>

#include "app/common/reporter.h"
#include "unfold/distributed/processes.h"

namespace unfold {

struct WorkPiece {
  std::string name;                      ///< name used in messages
  std::string claim;                     ///< a file that is locked while the piece is in progress; its folder is
                                         ///< created
  std::function<bool()> is_done;         ///< checks the output files
  std::function<void(Reporter&)> do_it;  ///< throws errors
};

struct WorkOptions {
  Index jobs = 1;   ///< child processes; 1: this process alone
  int threads = 1;  ///< threads of this process that process pieces in parallel, if there are no child processes
  Processes* processes = nullptr;  ///< processes that share this work, each without child processes; nullptr: only this
                                   ///< one
};

/// Returns, in all processes, when every piece is done. If a child dies, a warning names it, and its piece is repeated,
/// at most three times. Throws the error of a piece that this process worked on; RuntimeFailure if a child failed or a
/// piece could not be completed; InterruptedError.
void do_work(std::span<const WorkPiece> pieces, const WorkOptions& options, Reporter& reporter);

}  // namespace unfold
