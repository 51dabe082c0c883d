#pragma once
/// What a trainer reads when it learns a task, and how its predictions are judged.

#include <memory>

#include "unfold/tasks/task_batches.h"
#include "unfold/training/trainer.h"

namespace unfold {

struct TaskOptions {
  Index batch = 32;              ///< examples of a step
  Index validation = 1000;       ///< examples of a validation, where the task has no end of its own
  Index validation_batch = 100;  ///< side by side; no influence on the result
  Index curriculum = 0;          ///< > 0: the shortest first, twice as long after every so many examples
};

/// Counts wrong sequences by the rule of the task, and the mean squared error of values. The task must outlive it.
template <class T>
std::unique_ptr<Judge<T>> task_judge(const Task& task);

/// All of these for a trainer. `name` is what must be the same when a run is resumed: the SPEC of the task. Throws
/// UsageError: batch or validation below 1.
template <class T>
TrainingSources<T> task_sources(const Task& task, std::string_view name, const TaskOptions& options,
                                std::uint64_t seed);

}  // namespace unfold
