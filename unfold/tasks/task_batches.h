#pragma once
/// Batches made of the examples of a task: every chain is one whole example, read from a fresh state. Fields:
/// kTaskInput and kTaskTarget, symbols or vectors as the task says.

#include <memory>

#include "unfold/data/batch.h"
#include "unfold/tasks/tasks.h"

namespace unfold {

inline constexpr const char *kTaskInput = "input", *kTaskTarget = "target";

/// Examples of the training part: in their order where there is no end; else epoch by epoch, each in a random order
/// that is a function of (seed, epoch). With a `curriculum` c > 0 the first examples have shortest() steps; every c
/// examples the length doubles, growing steadily, until it is length(); all examples of a batch have the length of its
/// first. The task must outlive it. Throws UsageError.
std::unique_ptr<BatchSource> task_batches(const Task& task, Index batch, std::uint64_t seed, Index curriculum = 0);
/// The first `count` examples of a part, or all of them where that is fewer.
std::unique_ptr<BatchReader> task_reader(const Task& task, TaskSplit part, std::uint64_t seed, Index count,
                                         Index batch);

}  // namespace unfold
