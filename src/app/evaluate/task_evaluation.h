#pragma once
/// Support for task models (data/tasks/tasks.h): loading, evaluation and tables of examples.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unfold/model/network/network_model.h"

namespace unfold {

/// The results of a model on examples of its task.
struct TaskMetrics {
  std::string task;  ///< SPEC
  TaskShape shape = {};
  TaskScore score = {};
};
nlohmann::ordered_json to_json(const TaskMetrics& figures);

/// Returns a description: "reads 2 numbers a step, predicts 1 number".
std::string describe_shape(const TaskShape& shape);

/// Returns whether a run folder or model file holds a task model; false if it cannot be read.
bool holds_task_model(const std::string& model);
/// Returns whether a file is a damaged or unknown model: it begins like a model file or is empty, and it cannot be
/// loaded or is of an unknown kind. Also true for a run folder without a model.
bool holds_damaged_model(const std::string& model);
/// Loads a NetworkModel of a task. Throws ModelError, including for an unknown task.
std::unique_ptr<Model> load_task_model(const std::string& model);
/// Calls use(model) with the model in its own precision.
template <class Use>
auto with_task_model(const std::string& model, const Use& use) {
  const std::unique_ptr<Model> loaded = load_task_model(model);
  if (const auto* single = loaded->as<NetworkModel<float>>()) return use(*single);
  return use(loaded->need<NetworkModel<double>>("a task"));
}

struct TaskEvaluation {
  std::string model;  ///< run folder or model file
  std::string task =
      {};  ///< SPEC of another task with the same inputs and outputs, such as a longer one; empty: the task of training
  std::string folder = {};  ///< folder of the task's files, for tasks that read files
  TaskSplit part = TaskSplit::test;
  Index count = 1000;  ///< number of examples, for tasks that generate an unlimited number of them
  std::uint64_t seed = 1;
  Index threads = 0;  ///< 0: all available processors
};
/// Throws ModelError, UsageError for an unknown task, and DataError for a task whose shape differs from the shape of
/// the model.
TaskMetrics evaluate_on_task(const TaskEvaluation& request);

/// Returns `count` examples as a table with one row per step, `example step inputs... target`; "-" marks steps without
/// a target.
std::string task_table(const Task& task, TaskSplit part, std::uint64_t seed, Index count);

}  // namespace unfold
