#pragma once
/// Windows made of the examples of a task: every chain is one whole example, read from a fresh state.

#include <memory>

#include "unfold/data/tasks.h"
#include "unfold/training/trainer.h"

namespace unfold {

struct TaskOptions {
  Index batch = 32;              ///< examples in a window
  Index validation = 1000;       ///< examples of a validation, where the task has no end of its own
  Index validation_batch = 100;  ///< side by side; no influence on the result
  Index curriculum = 0;          ///< > 0: the shortest first, twice as long after every so many examples
};

/// Examples of the training part: in their order where there is no end; else epoch by epoch, each in a random order
/// that is a function of (seed, epoch). With a `curriculum` c > 0 the first examples have shortest() steps; every c
/// examples the length doubles, growing steadily, until it is length(); all examples of a window have the length of its
/// first. The task must outlive it. Throws UsageError.
std::unique_ptr<WindowSource> task_windows(const Task& task, Index batch, std::uint64_t seed, Index curriculum = 0);
/// The first `count` examples of a part, or all of them where that is fewer.
std::unique_ptr<WindowStream> task_stream(const Task& task, TaskPart part, std::uint64_t seed, Index count,
                                          Index batch);

/// Counts wrong sequences by the rule of the task, and the mean squared error of values. The task must outlive it.
template <class T>
std::unique_ptr<Judge<T>> task_judge(const Task& task);

/// All of these for a trainer. `name` is what must be the same when a run is resumed: the SPEC of the task. Throws
/// UsageError: batch or validation below 1.
template <class T>
TrainingSources<T> task_sources(const Task& task, std::string_view name, const TaskOptions& options,
                                std::uint64_t seed);

}  // namespace unfold
