#pragma once
/// Training sources for a generated task, and an evaluator of its predictions.

#include <memory>

#include "unfold/data/tasks/task_batches.h"
#include "unfold/train/trainer.h"

namespace unfold {

struct TaskOptions {
  Index batch = 32;              ///< examples per step
  Index validation = 1000;       ///< examples per validation, unless the task is finite
  Index validation_batch = 100;  ///< number of examples processed in parallel; does not affect the result
  Index curriculum = 0;          ///< > 0: starts with the shortest length and doubles it after this many examples
};

/// Returns the metrics of the task: the number of wrong sequences by its rule, and the mean squared error of values.
/// The task must outlive it.
template <class T>
std::unique_ptr<Judge<T>> task_judge(const Task& task);

/// Returns the sources for a trainer. `name`: the SPEC of the task, which must not change when a run is resumed. Throws
/// UsageError if batch or validation is below 1.
template <class T>
TrainingSources<T> task_sources(const Task& task, std::string_view name, const TaskOptions& options,
                                std::uint64_t seed);

}  // namespace unfold
