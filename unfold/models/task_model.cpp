#include "unfold/models/task_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/models/parameter_tensors.h"

namespace unfold {
namespace {

using Json = nlohmann::json;

/// What a SPEC in a card says; a SPEC that cannot be read is the file's fault.
template <class Parse>
auto from_card(const ModelFile& file, const char* key, Parse parse) {
  try {
    return parse(file.value<std::string>(key));
  } catch (const UsageError& error) {
    file.fail(fmt::format("the {} in the card is not possible: {}", key, error.what()));
  }
}

TaskShape shape_of(const ModelFile& file) {
  const Json json = file.value<Json>("shape");
  TaskShape shape;
  try {
    shape = {.inputs = json.at("inputs").get<Index>(),
             .outputs = json.at("outputs").get<Index>(),
             .reads_symbols = json.at("reads_symbols").get<bool>(),
             .predicts_symbols = json.at("predicts_symbols").get<bool>()};
  } catch (const Json::exception&) {
    file.fail("\"shape\" in the card is not what it should be");
  }
  constexpr Index kMost = Index{1} << 24;
  if (shape.inputs < 1 || shape.inputs > kMost || shape.outputs < 1 || shape.outputs > kMost)
    file.fail("\"shape\" in the card holds sizes without sense");
  return shape;
}

}  // namespace

template <class T>
TaskModel<T>::TaskModel(std::string_view spec, std::string_view task, const TaskShape& shape)
    : spec_(parse_model_spec(spec)),
      task_(canonical_task(task)),
      shape_(shape),
      configuration_(Json::object()),
      history_(Json::array()) {
  build();
  plan_ = std::make_shared<const Plan>(*circuit_);
  parameters_ = Parameters<T>(*circuit_);
}

template <class T>
TaskModel<T>::TaskModel(const ModelFile& file)
    : spec_(from_card(file, "model", [](const std::string& text) { return parse_model_spec(text); })),
      task_(from_card(file, "task", [](const std::string& text) { return canonical_task(text); })),
      shape_(shape_of(file)),
      configuration_(file.value<Json>("configuration")),
      history_(file.value<Json>("history")) {
  file.expect(kFormat, kFormatVersion);
  if (!history_->is_array()) file.fail("\"history\" is not a list");
  build();
  check_tensors<T>(*circuit_, file.tensors());
  plan_ = std::make_shared<const Plan>(*circuit_);
  parameters_ = Parameters<T>(*circuit_);
  read_tensors(file.tensors(), parameters_);
}

template <class T>
void TaskModel<T>::build() {
  circuit_ = std::make_unique<Circuit>();
  input_ =
      shape_.reads_symbols ? circuit_->symbols("symbols", shape_.inputs) : circuit_->input("values", shape_.inputs);
  output_ = build_model(spec_, input_, shape_.outputs, *circuit_).logits;
}

template <class T>
Network<T> TaskModel<T>::network() const {
  Network<T> network{.plan = plan_,
                     .symbols = {},
                     .output = output_,
                     .readout = shape_.predicts_symbols ? softmax_readout<T>() : gaussian_readout<T>(),
                     .dropout = spec_.dropout > 0};
  (shape_.reads_symbols ? network.symbols : network.vectors) = input_;
  return network;
}

template <class T>
Json TaskModel<T>::card() const {
  return {{"format", kFormat},
          {"format_version", kFormatVersion},
          {"model", to_string(spec_)},
          {"task", task_},
          {"shape",
           {{"inputs", shape_.inputs},
            {"outputs", shape_.outputs},
            {"reads_symbols", shape_.reads_symbols},
            {"predicts_symbols", shape_.predicts_symbols}}},
          {"configuration", *configuration_},
          {"history", *history_}};
}

template <class T>
void TaskModel<T>::save(const std::string& path, const Parameters<T>& parameters) const {
  SafetensorsWriter writer;
  add_tensors(writer, parameters);
  writer.set_metadata("card", card().dump());
  writer.write(path);
}

TaskScore evaluate(const TaskModel<float>& model, const Task& task, TaskPart part, std::uint64_t seed, Index count,
                   Team& team) {
  constexpr Index kSideBySide = 100;
  const auto judge = task_judge<float>(task);
  judge->start();
  TaskScore score;
  Evaluator<float> evaluator(model.network(), team);
  score.evaluation = evaluator.run(model.parameters(), *task_stream(task, part, seed, count, kSideBySide), {},
                                   [&](const Window& window, Matrix<const float> output) {
                                     judge->see(window, output);
                                     score.sequences += window.structure.sequences();
                                   });
  score.error_rate = judge->error_rate();
  score.measures = judge->measures();
  return score;
}

TrainingResult train(TaskModel<float>& model, const Task& task, const TaskTrainOptions& options, Team& team,
                     Observer* observer) {
  TrainerOptions trainer_options = options.trainer;
  trainer_options.model = fmt::format("{} on {}", to_string(model.spec()), model.task());
  Trainer<float> trainer(model.network(), model.parameters(),
                         task_sources<float>(task, model.task(), options.task, trainer_options.seed), trainer_options,
                         team);
  trainer.set_observer(observer);
  if (!options.model_file.empty())
    trainer.set_keeper([&](const Parameters<float>& best) { model.save(options.model_file, best); });
  TrainingResult result = trainer.run();
  const auto best = trainer.best().flat();
  if (best.data() != model.parameters().flat().data())
    std::copy(best.begin(), best.end(), model.parameters().flat().begin());
  model.history().push_back({{"optimizer", canonical_optimizer(trainer_options.optimizer)},
                             {"batch", options.task.batch},
                             {"seed", trainer_options.seed},
                             {"steps", result.steps},
                             {"best_step", result.best_step},
                             {"validation_nats_per_symbol", result.best_nats_per_symbol},
                             {"stopped_by", result.reason}});
  if (!options.model_file.empty()) model.save(options.model_file);
  return result;
}

template class TaskModel<float>;
template class TaskModel<double>;

}  // namespace unfold
