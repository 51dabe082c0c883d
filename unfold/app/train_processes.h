#pragma once
/// Training in several processes, seen from `train`: what must be the same in all of them before anything is written,
/// and how many threads each takes.

#include "unfold/processes/processes.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// Where nobody chose a number (0): the processors that this process may use, but no more than its share of the
/// machine, so that processes do not get in each other's way.
int threads_of_process(Index wanted, const Processes& processes);

/// The sum of a number of every process.
int sum_over(int mine, Processes& processes);

/// By all processes, when the settings are final. Throws UsageError in all of them: nothing is divided (no shards),
/// there are more processes than shards, or a process has another version, order of bytes, setting or file of data than
/// the first, which is named. `resumes`: a checkpoint was found.
void require_same_training(Processes& processes, const TrainSettings& settings, const RunSettings& run, bool resumes);

}  // namespace unfold
