#pragma once
/// Models of tasks (tasks/tasks.h): what train, evaluate, describe and generate have to do with them.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unfold/models/network_model.h"

namespace unfold {

/// How well a model did on examples of its task.
struct TaskFigures {
  std::string task;  ///< SPEC
  TaskShape shape = {};
  TaskScore score = {};
};
nlohmann::ordered_json to_json(const TaskFigures& figures);

/// "reads 2 numbers a step, predicts 1 number".
std::string what_it_reads(const TaskShape& shape);

/// Whether a run folder or model file holds one; false, too, when it cannot be read.
bool holds_task_model(const std::string& model);
/// Whether a file begins as our models do, or is empty, and cannot be loaded, or is of no kind that is known: there is
/// no knowing what it is evaluated on. True, too, for a run folder without a model.
bool holds_damaged_model(const std::string& model);
/// A NetworkModel of a task. Throws ModelError, also where the task is none that there is.
std::unique_ptr<Model> load_task_model(const std::string& model);
/// Calls use(model) with it, whatever its precision.
template <class Use>
auto with_task_model(const std::string& model, const Use& use) {
  const std::unique_ptr<Model> loaded = load_task_model(model);
  if (const auto* single = loaded->as<NetworkModel<float>>()) return use(*single);
  return use(loaded->need<NetworkModel<double>>("a task"));
}

struct TaskEvaluation {
  std::string model;      ///< run folder or model file
  std::string task = {};  ///< SPEC of one with the same inputs and outputs, longer, say; empty: what it was trained on
  std::string folder = {};  ///< of the task's files, if it needs any
  TaskSplit part = TaskSplit::test;
  Index count = 1000;  ///< examples, where there is no end of them
  std::uint64_t seed = 1;
  Index threads = 0;  ///< 0: every processor available
};
/// Throws ModelError, UsageError for a task that is not known, DataError for one of another shape than the model's.
TaskFigures evaluate_on_task(const TaskEvaluation& request);

/// `count` examples as a table: a row per step, `example step inputs... target`; "-" where nothing is to be predicted.
std::string task_table(const Task& task, TaskSplit part, std::uint64_t seed, Index count);

}  // namespace unfold
