#pragma once
/// Internal: the candidates of `train --restarts`, trained side by side on the threads of all processes that share the
/// run folder, and the choice among them. A candidate that is finished stays so (candidate-K.json): whoever resumes the
/// run goes on with the others.

#include <string>

#include "unfold/models/restarts.h"
#include "unfold/processes/processes.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct RestartWork {
  std::string folder = {};
  int threads = 1;                 ///< of this process, each for a candidate
  bool goes_on = false;            ///< candidates that are finished in the folder are those of this run
  Processes* processes = nullptr;  ///< nullptr: this one
};

/// By all processes. Moves the checkpoint of the best candidate to options.checkpoint, removes what the others left,
/// and returns its number. Throws as Trainer; DivergedError only when every candidate diverged.
template <class T>
Index choose_restart(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                     const RestartOptions& restarts, const RestartWork& work, Reporter& reporter);

}  // namespace unfold
