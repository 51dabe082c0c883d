#include "app/evaluate/task_evaluation.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "app/settings/train_settings.h"
#include "model/registry/run_folder.h"
#include "unfold/base/formats/file.h"
#include "unfold/data/files/safetensors.h"

namespace unfold {

std::string describe_shape(const TaskShape& shape) {
  const auto of = [](Index n, const char* one, const char* many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
  };
  return fmt::format(
      "reads {}{}, predicts {}",
      shape.reads_symbols ? of(shape.inputs, "symbol", "symbols") : of(shape.inputs, "number", "numbers"),
      shape.reads_symbols ? "" : " a step",
      shape.predicts_symbols ? of(shape.outputs, "class", "classes") : of(shape.outputs, "number", "numbers"));
}

bool holds_task_model(const std::string& model) {
  try {
    const ModelFile file = ModelFile::open(model_file(model));
    return file.kind() == NetworkModel<float>::kKind && file.data().source.starts_with("task ");
  } catch (const ModelError&) {
    return false;  // the error is reported when the model is loaded
  }
}

bool holds_damaged_model(const std::string& model) {
  try {
    const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
    return loaded->as<SymbolModel>() == nullptr;  // no command supports this model
  } catch (const ModelError&) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(model, ignored)) return true;
    const FileBytes file(model);
    return file.bytes().empty() || begins_as_safetensors(file.bytes());
  }
}

std::unique_ptr<Model> load_task_model(const std::string& model) {
  std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  try {
    canonical_task(task_of(*loaded));
  } catch (const UsageError& error) {
    throw ModelError(fmt::format("{}: the model card names an unknown task: {}", model, error.what()));
  }
  return loaded;
}

TaskMetrics evaluate_on_task(const TaskEvaluation& request) {
  return with_task_model(request.model, [&](const auto& model) -> TaskMetrics {
    const std::string name = request.task.empty() ? task_of(model) : canonical_task(request.task);
    if (!request.folder.empty() && !task_needs_files(name))
      throw UsageError(
          fmt::format("task {} generates its examples and reads no files; leave out {}", name, request.folder));
    const std::unique_ptr<Task> task = make_task(name, request.folder);
    const TaskShape shape = task->shape(), own = task_shape_of(model);
    if (shape != own)
      throw DataError(fmt::format("the model {}, but this task {}", describe_shape(own), describe_shape(shape)));
    const Index all = task->examples(request.part);
    Team team(thread_count(request.threads));
    return {name, own, evaluate(model, *task, request.part, request.seed, all > 0 ? all : request.count, team)};
  });
}

nlohmann::ordered_json to_json(const TaskMetrics& figures) {
  const TaskScore& score = figures.score;
  nlohmann::ordered_json json = {{"task", figures.task}, {"sequences", score.sequences}};
  for (const auto& [name, value] : score.measures) json[name] = value;
  json["nats_per_symbol"] = score.evaluation.nats_per_symbol();
  json["bits_per_symbol"] = bits(score.evaluation.nats_per_symbol());
  json["symbols"] = score.evaluation.predicted;
  return json;
}

std::string task_table(const Task& task, TaskSplit part, std::uint64_t seed, Index count) {
  const TaskShape shape = task.shape();
  std::string table = "example\tstep";
  if (shape.reads_symbols) table += "\tinput";
  for (Index i = 0; !shape.reads_symbols && i < shape.inputs; ++i) table += fmt::format("\tinput{}", i + 1);
  const Index targets = shape.predicts_symbols ? 1 : shape.outputs;
  for (Index i = 0; i < targets; ++i) table += targets > 1 ? fmt::format("\ttarget{}", i + 1) : "\ttarget";
  table += '\n';
  Example example;
  for (Index n = 0; n < count; ++n) {
    task.example(part, seed, n, example);
    for (Index t = 0; t < example.length; ++t) {
      const auto step = static_cast<std::size_t>(t);
      table += fmt::format("{}\t{}", n, t);
      if (shape.reads_symbols) table += fmt::format("\t{}", example.symbols[step]);
      for (Index i = 0; !shape.reads_symbols && i < shape.inputs; ++i)
        table += fmt::format("\t{}", example.values[static_cast<std::size_t>(t * shape.inputs + i)]);
      if (shape.predicts_symbols) {
        const Symbol target = example.target_symbols[step];
        table += target == kNoSymbol ? "\t-\n" : fmt::format("\t{}\n", target);
      } else {
        for (Index i = 0; i < targets; ++i) {
          const float target = example.target_values[static_cast<std::size_t>(t * targets + i)];
          table += std::isnan(target) ? "\t-" : fmt::format("\t{}", target);
        }
        table += '\n';
      }
    }
  }
  return table;
}

}  // namespace unfold
