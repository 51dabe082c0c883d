#pragma once
/// A network model: it reads fields and predicts fields, whatever they are (data/specification.h). Taggers, classifiers
/// and models of tasks are network models; the language model, which is a stream of its own, is language_model.h.
///
///   auto task = make_task("adding:100");
///   NetworkModel<float> model("irnn:100", task_specification("adding:100", *task), task_layout());
///   model.initialise(seed);
///   train(model, *task, options, team);
///   TaskScore score = evaluate(model, *task, TaskSplit::test, 1, 1000, team);
///
/// File (capabilities/model.h): one tensor per parameter, by its name; kind "network", with the keys "reads" and
/// "heads".

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "unfold/models/network_body.h"
#include "unfold/models/parameter_tensors.h"
#include "unfold/tasks/task_spec.h"
#include "unfold/training/evaluate.h"
#include "unfold/training/task_sources.h"

namespace unfold {

template <class T>
class NetworkModel final : public Model, public NetworkHolder {
 public:
  static constexpr const char* kKind = "network";

  /// Throws UsageError for a bad SPEC or layout. Parameters are zero until initialised.
  NetworkModel(std::string_view spec, const DataSpecification& data, const NetworkLayout& layout);
  /// Throws ModelError.
  explicit NetworkModel(const ModelFile& file);
  void initialise(std::uint64_t seed) { body_.parameters().initialise(seed); }

  const ModelSpec& spec() const override { return body_.spec(); }
  std::string spec_text() const override { return to_string(spec()); }
  std::string kind() const override { return kKind; }
  const Circuit& circuit() const override { return body_.circuit(); }
  std::shared_ptr<const Plan> plan() const override { return body_.plan(); }
  const NetworkLayout& layout() const { return layout_; }
  Parameters<T>& parameters() { return body_.parameters(); }
  const Parameters<T>& parameters() const { return body_.parameters(); }
  const Network<T>& network() const { return body_.network(); }  ///< valid as long as the model

  using Model::save;
  /// The same with other parameters of the same circuit.
  void save(const std::string& path, const Parameters<T>& parameters) const;

 protected:
  void add_tensors(SafetensorsWriter& writer) const override {
    unfold::add_tensors(writer, parameters());
    layout_.add_listings(writer);
  }
  void add_to_card(nlohmann::json& card) const override;

 private:
  NetworkLayout layout_;
  NetworkBody<T> body_;
};

/// Trains a network model on whatever a source gives; afterwards it holds the best parameters, and its history one more
/// entry. `model_file`: the best model so far is written there whenever it changes; empty: nowhere. Throws as Trainer.
template <class T>
TrainingResult train(NetworkModel<T>& model, TrainingSources<T> sources, const TrainerOptions& options,
                     const std::string& model_file, Team& team, Observer* observer = nullptr);

/// The network of a model with its own numbers read where it is told to (training/free_positions.h), added to an empty
/// circuit; weights are dropped and tied as in the model's. Throws UsageError where nothing is fed back, or where what
/// is predicted is no mean.
template <class T>
Network<T> feedback_network(const NetworkModel<T>& model, Circuit& circuit);

/// The network of a model that finds trees with a head for their merges, added to an empty circuit. REQUIRES
/// network().merges.
template <class T>
Network<T> merging_network(const NetworkModel<T>& model, Circuit& circuit);

// Models of tasks (tasks/tasks.h): they read symbols or vectors and predict a value or a class at the end, or one at
// every step.

/// The data of a task: its SPEC, canonical, is their source. Where it predicts one thing for all of a sequence, the
/// model reads its last state, or what its SPEC pools of it. Throws UsageError.
DataSpecification task_specification(std::string_view spec, const Task& task, const ModelSpec& model = {});
NetworkLayout task_layout();
/// The SPEC of the task that a model was trained on; empty for a model of other data.
std::string task_of(const Model& model);
/// What examples look like to a model of a task.
TaskShape task_shape_of(const Model& model);

struct TaskScore {
  Evaluation evaluation = {};
  Index sequences = 0;
  double error_rate = 0;   ///< share of wrong sequences
  Measures measures = {};  ///< that, and the mean squared error of values
};

/// Measures the first `count` examples of a part.
template <class T>
TaskScore evaluate(const NetworkModel<T>& model, const Task& task, TaskSplit part, std::uint64_t seed, Index count,
                   Team& team);

struct TaskTrainOptions {
  TrainerOptions trainer = {};  ///< its batches have no meaning here
  TaskOptions task = {};
  std::string model_file = {};  ///< the best model so far is written here whenever it changes; empty: nowhere
};

/// Trains the model; afterwards it holds the best parameters. Throws as Trainer.
template <class T>
TrainingResult train(NetworkModel<T>& model, const Task& task, const TaskTrainOptions& options, Team& team,
                     Observer* observer = nullptr);

}  // namespace unfold
