#include "unfold/model/network/network_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "loss/symbol_probabilities.h"
#include "model/network/feedback.h"
#include "model/network/stored_spec.h"
#include "model/network/train_with_objective.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

constexpr std::string_view kTaskSource = "task ";

/// Throws UsageError for a loss that only models of running text support.
template <class T>
void require_losses_of_fields(const ModelSpec& spec, const Network<T>& network) {
  if (!spec.loss.empty() && spec.loss != "softmax")
    throw UsageError(
        fmt::format("model {}: loss= sets the loss of the next symbol of running text; leave it out, and set the loss "
                    "of a field with --predict FIELD=LOSS",
                    to_string(spec)));
  for (const Head<T>& head : network.heads)
    if (head.loss->template as<SymbolCount<T>>() != nullptr)
      throw UsageError(fmt::format("{}: the loss {} supports only the next symbol of running text; use softmax",
                                   head.field, head.loss->name()));
}

}  // namespace

template <class T>
NetworkModel<T>::NetworkModel(std::string_view spec, const DataSpecification& data_given, const NetworkLayout& layout)
    : Model(data_given), layout_(layout), body_(parse_model_spec(spec), data(), layout_) {
  require_losses_of_fields(this->spec(), network());
}

template <class T>
NetworkModel<T>::NetworkModel(const ModelFile& file)
    : Model(file.expect(kKind)), layout_(NetworkLayout::from_file(file)), body_(file, data(), layout_) {
  try {
    require_losses_of_fields(spec(), network());
  } catch (const UsageError& error) {
    file.fail(error.what());
  }
}

template <class T>
void NetworkModel<T>::add_to_card(nlohmann::json& card) const {
  card["reads"] = layout_.reads;
  if (!layout_.feedback.empty()) card["feedback"] = layout_.feedback;
  card["heads"] = layout_.heads_to_json();
  add_cell_to_card(spec(), card);
}

template <class T>
void NetworkModel<T>::save(const std::string& path, const Parameters<T>& parameters) const {
  SafetensorsWriter writer;
  unfold::add_tensors(writer, parameters);
  layout_.add_listings(writer);
  write(writer, path);
}

DataSpecification task_specification(std::string_view spec, const Task& task, const ModelSpec& model) {
  const TaskShape shape = task.shape();
  const auto field = [](const char* name, bool symbols, Index size) {
    return FieldSpecification{.name = name, .type = symbols ? Type::symbols : Type::values, .size = size};
  };
  FieldSpecification target = field(kTaskTarget, shape.predicts_symbols, shape.outputs);
  target.once = task.predicts_once() && model.pool != ModelSpec().pool;
  return {.source = std::string(kTaskSource) + canonical_task(spec),
          .fields = {field(kTaskInput, shape.reads_symbols, shape.inputs), std::move(target)}};
}

NetworkLayout task_layout() { return {.reads = {kTaskInput}, .heads = {{.field = kTaskTarget}}}; }

std::string task_of(const Model& model) {
  const std::string& source = model.data().source;
  return source.starts_with(kTaskSource) ? source.substr(kTaskSource.size()) : std::string();
}

TaskShape task_shape_of(const Model& model) {
  const FieldSpecification& input = model.data().field(kTaskInput);
  const FieldSpecification& target = model.data().field(kTaskTarget);
  return {.inputs = input.size,
          .outputs = target.size,
          .reads_symbols = input.type == Type::symbols,
          .predicts_symbols = target.type == Type::symbols};
}

template <class T>
TaskScore evaluate(const NetworkModel<T>& model, const Task& task, TaskSplit part, std::uint64_t seed, Index count,
                   Team& team) {
  constexpr Index kSideBySide = 100;
  const auto judge = task_judge<T>(task);
  judge->start();
  TaskScore score;
  Evaluator<T> evaluator(model.network(), team);
  score.evaluation = evaluator.run(model.parameters(), *task_reader(task, part, seed, count, kSideBySide), {},
                                   [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
                                     judge->see(batch, outputs);
                                     score.sequences += batch.structure.sequences();
                                   });
  score.error_rate = judge->error_rate();
  score.measures = judge->measures();
  return score;
}

template <class T>
TrainingResult train_with_losses(const Network<T>& network, NetworkModel<T>& model, TrainingSources<T> sources,
                                 const TrainerOptions& options, const std::string& model_file, Team& team,
                                 Observer* observer) {
  const Index batch = sources.training->streams();
  Trainer<T> trainer(network, model.parameters(), std::move(sources), options, team);
  trainer.set_observer(observer);
  if (!model_file.empty()) trainer.on_best([&](const Parameters<T>& best) { model.save(model_file, best); });
  TrainingResult result = trainer.run();
  const auto best = trainer.best().flat();
  if (best.data() != model.parameters().flat().data())
    std::copy(best.begin(), best.end(), model.parameters().flat().begin());
  model.history().push_back({{"optimizer", canonical_optimizer(options.optimizer)},
                             {"batch", batch},
                             {"seed", options.seed},
                             {"steps", result.steps},
                             {"best_step", result.best_step},
                             {"validation_nats_per_symbol", result.best_nats_per_symbol},
                             {"stopped_by", result.reason}});
  if (!model_file.empty()) model.save(model_file);
  return result;
}

template <class T>
Network<T> feedback_network(const NetworkModel<T>& model, Circuit& circuit) {
  Network<T> network = build_feedback_network<T>(model.spec(), model.data(), model.layout(), model.circuit(), circuit);
  network.drops = model.network().drops;
  return network;
}

template <class T>
Network<T> merging_network(const NetworkModel<T>& model, Circuit& circuit) {
  return build_network<T>(model.spec(), model.data(), model.layout(), circuit, {.merges = true});
}

template <class T>
TrainingResult train(NetworkModel<T>& model, TrainingSources<T> sources, const TrainerOptions& options,
                     const std::string& model_file, Team& team, Observer* observer) {
  if (!options.penalties.any())
    return train_with_losses(model.network(), model, std::move(sources), options, model_file, team, observer);
  Circuit with_hidden;
  const Network<T> network =
      build_network<T>(model.spec(), model.data(), model.layout(), with_hidden, {.output_hidden = true});
  return train_with_losses(network, model, std::move(sources), options, model_file, team, observer);
}

template <class T>
TrainingResult train(NetworkModel<T>& model, const Task& task, const TaskTrainOptions& options, Team& team,
                     Observer* observer) {
  TrainerOptions trainer = options.trainer;
  trainer.model = fmt::format("{} on {}", model.spec_text(), task_of(model));
  return train(model, task_sources<T>(task, task_of(model), options.task, trainer.seed), trainer, options.model_file,
               team, observer);
}

template TaskScore evaluate(const NetworkModel<float>&, const Task&, TaskSplit, std::uint64_t, Index, Team&);
template TaskScore evaluate(const NetworkModel<double>&, const Task&, TaskSplit, std::uint64_t, Index, Team&);
template TrainingResult train(NetworkModel<float>&, const Task&, const TaskTrainOptions&, Team&, Observer*);
template TrainingResult train(NetworkModel<double>&, const Task&, const TaskTrainOptions&, Team&, Observer*);
template Network<float> feedback_network(const NetworkModel<float>&, Circuit&);
template Network<double> feedback_network(const NetworkModel<double>&, Circuit&);
template Network<float> merging_network(const NetworkModel<float>&, Circuit&);
template Network<double> merging_network(const NetworkModel<double>&, Circuit&);
template TrainingResult train(NetworkModel<float>&, TrainingSources<float>, const TrainerOptions&, const std::string&,
                              Team&, Observer*);
template TrainingResult train(NetworkModel<double>&, TrainingSources<double>, const TrainerOptions&, const std::string&,
                              Team&, Observer*);
template TrainingResult train_with_losses(const Network<float>&, NetworkModel<float>&, TrainingSources<float>,
                                          const TrainerOptions&, const std::string&, Team&, Observer*);
template TrainingResult train_with_losses(const Network<double>&, NetworkModel<double>&, TrainingSources<double>,
                                          const TrainerOptions&, const std::string&, Team&, Observer*);
template class NetworkModel<float>;
template class NetworkModel<double>;

}  // namespace unfold
