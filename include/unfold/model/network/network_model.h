#pragma once
/// A network model reads and predicts arbitrary fields (data/examples/specification.h). Taggers, classifiers and task
/// models are network models; language models, which read a stream of text, are in language_model.h.
///
///   auto task = make_task("adding:100");
///   NetworkModel<float> model("irnn:100", task_specification("adding:100", *task), task_layout());
///   model.initialize(seed);
///   train(model, *task, options, team);
///   TaskScore score = evaluate(model, *task, TaskSplit::test, 1, 1000, team);
///
/// File (model/model.h): one tensor per parameter, by its name; kind "network", with the keys "reads" and
/// "heads".

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "unfold/data/tasks/task_spec.h"
#include "unfold/model/network/network_body.h"
#include "unfold/model/parameter_tensors.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/task_sources.h"

namespace unfold {

template <class T>
class NetworkModel final : public Model, public NetworkHolder {
 public:
  static constexpr const char* kKind = "network";

  /// Throws UsageError for a bad SPEC or layout. Parameters are zero until initialized.
  NetworkModel(std::string_view spec, const DataSpecification& data, const NetworkLayout& layout);
  /// Throws ModelError.
  explicit NetworkModel(const ModelFile& file);
  void initialize(std::uint64_t seed) { body_.parameters().initialize(seed); }

  const ModelSpec& spec() const override { return body_.spec(); }
  std::string spec_text() const override { return to_string(spec()); }
  std::string kind() const override { return kKind; }
  const Circuit& circuit() const override { return body_.circuit(); }
  std::shared_ptr<const Plan> plan() const override { return body_.plan(); }
  const NetworkLayout& layout() const { return layout_; }
  Parameters<T>& parameters() { return body_.parameters(); }
  const Parameters<T>& parameters() const { return body_.parameters(); }
  const Network<T>& network() const { return body_.network(); }  ///< valid during the lifetime of the model

  using Model::save;
  /// Saves the model with other parameters of the same circuit.
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

/// Trains a network model on the batches of a source. Afterwards the model has the best parameters and a new entry in
/// its history. `model_file`: file to which the best model so far is written whenever it changes; empty: none. Throws
/// the same exceptions as Trainer.
template <class T>
TrainingResult train(NetworkModel<T>& model, TrainingSources<T> sources, const TrainerOptions& options,
                     const std::string& model_file, Team& team, Observer* observer = nullptr);

/// Adds to an empty circuit the network of a model that reads its own predictions at selected positions
/// (train/objective/output_feedback.h), with weight dropping and tying as in the model. Throws UsageError if no field
/// is fed back, or if the prediction is not a mean.
template <class T>
Network<T> feedback_network(const NetworkModel<T>& model, Circuit& circuit);

/// Adds to an empty circuit the network of a model that finds trees, with an additional head for their merges. REQUIRES
/// network().merges.
template <class T>
Network<T> merging_network(const NetworkModel<T>& model, Circuit& circuit);

// Task models (data/tasks/tasks.h) read symbols or vectors and predict a value or a class, either at the end or at
// every step.

/// Returns the data specification of a task, with the canonical SPEC of the task as the source. If the task has one
/// target per sequence, the head reads the last state, or the pooled states according to the SPEC of the model. Throws
/// UsageError.
DataSpecification task_specification(std::string_view spec, const Task& task, const ModelSpec& model = {});
NetworkLayout task_layout();
/// Returns the SPEC of the task that a model was trained on; empty for a model that was trained on other data.
std::string task_of(const Model& model);
/// Returns the shape of the examples of the task that a model was trained on.
TaskShape task_shape_of(const Model& model);

struct TaskScore {
  Evaluation evaluation = {};
  Index sequences = 0;
  double error_rate = 0;   ///< fraction of incorrect sequences
  Measures measures = {};  ///< the error rate, and the mean squared error of values
};

/// Evaluates the first `count` examples of a part.
template <class T>
TaskScore evaluate(const NetworkModel<T>& model, const Task& task, TaskSplit part, std::uint64_t seed, Index count,
                   Team& team);

struct TaskTrainOptions {
  TrainerOptions trainer = {};  ///< its batch options are not used
  TaskOptions task = {};
  std::string model_file = {};  ///< file to which the best model so far is written whenever it changes; empty: none
};

/// Trains the model; afterwards it has the best parameters. Throws the same exceptions as Trainer.
template <class T>
TrainingResult train(NetworkModel<T>& model, const Task& task, const TaskTrainOptions& options, Team& team,
                     Observer* observer = nullptr);

}  // namespace unfold
