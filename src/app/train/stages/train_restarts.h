#pragma once
/// Internal: trains the candidates of `train --restarts` concurrently, on the threads of all processes that share the
/// run folder, and selects the best one. The result of a finished candidate is stored (candidate-K.json), so that a
/// resumed run trains only the remaining ones.

#include <string>

#include "app/common/reporter.h"
#include "model/network/fitting/parallel_starts.h"
#include "unfold/distributed/processes.h"

namespace unfold {

struct RestartWork {
  std::string folder = {};
  int threads = 1;                 ///< threads of this process, one per candidate
  bool can_resume = false;         ///< resuming: finished candidates in the folder belong to this run
  Processes* processes = nullptr;  ///< nullptr: only this process
};

/// Called by all processes. Moves the checkpoint of the best candidate to options.checkpoint, removes the files of the
/// others, and returns its index. Throws like Trainer; throws DivergedError only if every candidate diverged.
template <class T>
Index choose_restart(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                     const RestartOptions& restarts, const RestartWork& work, Reporter& reporter);

}  // namespace unfold
