#pragma once
/// Pieces of work that do not depend on each other, done by several processes that share a folder: child processes on
/// this machine (`jobs`), or those of `mpirun`. Each goes through the pieces in order and does those that nobody has
/// claimed; so do several threads of one process. A claim is a lock of the kernel, which goes with the process that
/// holds it: the work of one that died is free again, and whoever does it goes on where it stood if it left a
/// checkpoint.

#include <functional>
#include <span>
#include <string>

#include "unfold/processes/processes.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct WorkPiece {
  std::string name;                      ///< for messages
  std::string claim;                     ///< a file that is locked while somebody does it; its folder is made
  std::function<bool()> is_done;         ///< asks the files that it leaves
  std::function<void(Reporter&)> do_it;  ///< throws errors
};

struct WorkOptions {
  Index jobs = 1;                  ///< child processes; 1: this process alone
  int threads = 1;                 ///< of this process that do pieces side by side, where there are no child processes
  Processes* processes = nullptr;  ///< that all do this work, each without child processes; nullptr: this one
};

/// Returns, in all processes, when every piece is done. A child that dies is named, and its work is done again, three
/// times at most. Throws the error of a piece that this process did, RuntimeFailure for one of a child or one that
/// could not be done, InterruptedError.
void do_work(std::span<const WorkPiece> pieces, const WorkOptions& options, Reporter& reporter);

}  // namespace unfold
