#pragma once
/// A recurrent model of a task (data/tasks.h): it reads symbols or vectors and predicts a value or a class at the end,
/// or one at every step.
///
///   auto task = make_task("adding:100");
///   TaskModel<float> model("rnn:100,activation=relu,init=identity", "adding:100", task->shape());
///   model.initialise(seed);
///   train(model, *task, options, team);
///   TaskScore score = evaluate(model, *task, TaskPart::test, 1, 1000, team);
///
/// File: as that of a language model (symbol_model.h), format "unfold-task-model", with the key "task" (SPEC) and
/// "shape" in the place of an alphabet.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "unfold/base/json.h"
#include "unfold/capabilities/symbol_model.h"
#include "unfold/circuit/parameters.h"
#include "unfold/data/task_spec.h"
#include "unfold/losses/network.h"
#include "unfold/models/spec.h"
#include "unfold/training/task_windows.h"

namespace unfold {

template <class T>
class TaskModel {
 public:
  static constexpr const char* kFormat = "unfold-task-model";
  static constexpr int kFormatVersion = 1;

  /// Throws UsageError for a bad SPEC. Parameters are zero until initialised.
  TaskModel(std::string_view spec, std::string_view task, const TaskShape& shape);
  /// Throws ModelError.
  explicit TaskModel(const ModelFile& file);
  void initialise(std::uint64_t seed) { parameters_.initialise(seed); }

  const ModelSpec& spec() const { return spec_; }
  const std::string& task() const { return task_; }  ///< its SPEC, canonical
  const TaskShape& shape() const { return shape_; }
  Parameters<T>& parameters() { return parameters_; }
  const Parameters<T>& parameters() const { return parameters_; }
  const Circuit& circuit() const { return *circuit_; }
  std::shared_ptr<const Plan> plan() const { return plan_; }
  Network<T> network() const;  ///< valid as long as the model

  nlohmann::json& configuration() { return *configuration_; }
  const nlohmann::json& configuration() const { return *configuration_; }
  nlohmann::json& history() { return *history_; }
  const nlohmann::json& history() const { return *history_; }
  nlohmann::json card() const;
  void save(const std::string& path) const { save(path, parameters_); }  ///< atomically; throws RuntimeFailure
  void save(const std::string& path, const Parameters<T>& parameters) const;

 private:
  void build();

  ModelSpec spec_;
  std::string task_;
  TaskShape shape_;
  std::unique_ptr<Circuit> circuit_;  // signals and plan point to it
  Signal input_, output_;
  std::shared_ptr<const Plan> plan_;
  Parameters<T> parameters_;
  JsonBox configuration_, history_;
};

struct TaskScore {
  Evaluation evaluation = {};
  Index sequences = 0;
  double error_rate = 0;   ///< share of wrong sequences
  Measures measures = {};  ///< that, and the mean squared error of values
};

/// Measures the first `count` examples of a part.
TaskScore evaluate(const TaskModel<float>& model, const Task& task, TaskPart part, std::uint64_t seed, Index count,
                   Team& team);

struct TaskTrainOptions {
  TrainerOptions trainer = {};  ///< its batches have no meaning here
  TaskOptions task = {};
  std::string model_file = {};  ///< the best model so far is written here whenever it changes; empty: nowhere
};

/// Trains the model; afterwards it holds the best parameters. Throws as Trainer.
TrainingResult train(TaskModel<float>& model, const Task& task, const TaskTrainOptions& options, Team& team,
                     Observer* observer = nullptr);

}  // namespace unfold
