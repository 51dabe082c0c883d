#pragma once
/// Training in several processes: consistency checks before anything is written, and the number of threads per process.

#include "app/settings/train_settings.h"
#include "unfold/distributed/processes.h"

namespace unfold {

/// Returns the number of threads. If `wanted` is 0, it is the number of processors that this process may use, but at
/// most its share of the machine, so that processes do not compete.
int threads_of_process(Index wanted, const Processes& processes);

/// Returns the sum of `mine` over all processes.
int sum_over(int mine, Processes& processes);

/// Called by all processes with the final settings. Throws UsageError in all of them if the training is not divided
/// into shards, if there are more processes than shards, or if a process differs from the first one in version, byte
/// order, a setting or a data file; the message names the difference. `resumes`: a checkpoint was found.
void require_same_training(Processes& processes, const TrainSettings& settings, const RunSettings& run, bool resumes);

}  // namespace unfold
