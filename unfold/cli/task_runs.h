#pragma once
/// The parts of train, eval, info and generate that deal with tasks (data/tasks.h).

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unfold/base/json.h"
#include "unfold/cli/console.h"
#include "unfold/app/run_folder.h"
#include "unfold/models/task_model.h"

namespace unfold {

struct TaskRun {
  std::string task, folder, model;  ///< SPECs; folder of the task's files, if it needs any
  TaskTrainOptions options = {};
  JsonBox configuration = {};  ///< for the card
  bool json = false;
};

/// Trains and prints the result.
void train_on_task(Console& console, const RunFolder& run, const TaskRun& request, Team& team);

/// Whether a run folder or model file holds one; false, too, when it cannot be read.
bool holds_task_model(const std::string& model);
TaskModel<float> load_task_model(const std::string& model);

struct TaskEvaluation {
  std::string folder = {};
  TaskPart part = TaskPart::test;
  Index count = 1000;
  std::uint64_t seed = 1;
};
nlohmann::ordered_json to_json(const TaskModel<float>& model, const TaskScore& score);
std::string to_text(const TaskModel<float>& model, const TaskScore& score);
/// Measures a model on examples of its task.
TaskScore evaluate_on_task(const TaskModel<float>& model, const TaskEvaluation& request, Team& team);

nlohmann::ordered_json describe_task_model(const TaskModel<float>& model, const std::string& file);
std::string task_model_text(const TaskModel<float>& model, const std::string& file);

/// `count` examples as a table: a row per step, `example step inputs... target`; "-" where nothing is to be predicted.
std::string task_table(const Task& task, TaskPart part, std::uint64_t seed, Index count);

}  // namespace unfold
