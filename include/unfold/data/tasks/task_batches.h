#pragma once
/// Batches of the examples of a task: every chain is one whole example, read from the initial state. Fields: kTaskInput
/// and kTaskTarget, symbols or vectors depending on the task.

#include <memory>

#include "unfold/data/tasks/tasks.h"
#include "unfold/data/text/batch.h"

namespace unfold {

inline constexpr const char *kTaskInput = "input", *kTaskTarget = "target";

/// Batches of the training part: in order if the part is unlimited, otherwise epoch by epoch, each in a random order
/// that is a function of (seed, epoch). With a `curriculum` c > 0 the first examples have shortest() steps. Every c
/// examples the length doubles, growing linearly, until it is length(). All examples of a batch have the length of its
/// first example. The task must outlive the source. Throws UsageError.
std::unique_ptr<BatchSource> task_batches(const Task& task, Index batch, std::uint64_t seed, Index curriculum = 0);
/// Batches of the first `count` examples of a part, or of all of them if there are fewer.
std::unique_ptr<BatchReader> task_reader(const Task& task, TaskSplit part, std::uint64_t seed, Index count,
                                         Index batch);

}  // namespace unfold
