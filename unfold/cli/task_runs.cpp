#include "unfold/cli/task_runs.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/cli/figures.h"
#include "unfold/cli/interrupt.h"
#include "unfold/cli/train_progress.h"

namespace unfold {
namespace {

/// Examples that tell how good a trained model is.
constexpr Index kTestExamples = 1000;

std::string what_it_reads(const TaskShape& shape) {
  const auto of = [](Index n, const char* one, const char* many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
  };
  return fmt::format(
      "reads {}{}, predicts {}",
      shape.reads_symbols ? of(shape.inputs, "symbol", "symbols") : of(shape.inputs, "number", "numbers"),
      shape.reads_symbols ? "" : " a step",
      shape.predicts_symbols ? of(shape.outputs, "class", "classes") : of(shape.outputs, "number", "numbers"));
}

}  // namespace

void train_on_task(Console& console, const RunFolder& run, const TaskRun& request, Team& team) {
  const std::unique_ptr<Task> task = make_task(request.task, request.folder);
  NetworkModel<float> model(request.model, task_specification(request.task, task->shape()), task_layout());
  const std::uint64_t seed = request.options.trainer.seed;
  model.initialise(seed);
  model.configuration() = *request.configuration;
  console.remark(fmt::format("{} on {}: {} parameters; {}, {} steps each", request.model, request.task,
                             model.parameters().size(), what_it_reads(task->shape()), task->length()));
  TrainProgress progress(console, request.options.trainer.steps);
  TaskTrainOptions options = request.options;
  options.trainer.stop = &catch_interrupts();
  TrainingResult result;
  try {
    result = train(model, *task, options, team, &progress);
  } catch (const InterruptedError&) {
    throw InterruptedError(fmt::format("interrupted; the checkpoint is {}: go on with `unfold train --out {} --resume`",
                                       run.checkpoint(), run.path()));
  }
  const TaskScore valid = evaluate(model, *task, TaskPart::validation, seed, options.task.validation, team);
  const TaskScore test = evaluate(model, *task, TaskPart::test, seed, kTestExamples, team);
  if (request.json) {
    print_result(one_line({{"run", run.path()},
                           {"model", request.model},
                           {"task", request.task},
                           {"parameters", model.parameters().size()},
                           {"valid", to_json(model, valid)},
                           {"test", to_json(model, test)},
                           {"best_step", result.best_step},
                           {"steps", result.steps},
                           {"seconds", result.seconds},
                           {"rollbacks", result.rollbacks},
                           {"ended_by", result.reason}}));
    return;
  }
  print_result(fmt::format("Best validation, at step {} of {}:\n{}Test:\n{}", result.best_step, result.steps,
                           to_text(model, valid), to_text(model, test)));
  print_result(fmt::format("time             {} (ended by {})\nmodel            {} ({})\n",
                           duration_text(result.seconds), result.reason, run.model(), request.model));
}

bool holds_task_model(const std::string& model) {
  try {
    return ModelFile::open(model_file(model)).kind() == NetworkModel<float>::kKind;
  } catch (const ModelError&) {
    return false;  // whoever loads it says what is wrong
  }
}

NetworkModel<float> load_task_model(const std::string& model) {
  return NetworkModel<float>(ModelFile::open(model_file(model)));
}

TaskScore evaluate_on_task(const NetworkModel<float>& model, const TaskEvaluation& request, Team& team) {
  const std::unique_ptr<Task> task = make_task(task_of(model), request.folder);
  const TaskShape shape = task->shape(), own = task_shape_of(model);
  if (shape.inputs != own.inputs || shape.outputs != own.outputs)
    throw DataError(fmt::format("the model {}, but this task {}", what_it_reads(own), what_it_reads(shape)));
  const Index all = task->examples(request.part);
  return evaluate(model, *task, request.part, request.seed, all > 0 ? all : request.count, team);
}

nlohmann::ordered_json to_json(const NetworkModel<float>& model, const TaskScore& score) {
  nlohmann::ordered_json json = {{"task", task_of(model)}, {"sequences", score.sequences}};
  for (const auto& [name, value] : score.measures) json[name] = value;
  json["nats_per_symbol"] = score.evaluation.nats_per_symbol();
  json["bits_per_symbol"] = bits(score.evaluation.nats_per_symbol());
  json["symbols"] = score.evaluation.predicted;
  return json;
}

std::string to_text(const NetworkModel<float>& model, const TaskScore& score) {
  std::string text = fmt::format("wrong sequences  {:.2f} % of {}\n", 100 * score.error_rate, score.sequences);
  for (const auto& [name, value] : score.measures)
    if (name == "mean_squared_error") text += fmt::format("squared error    {:.6g}\n", value);
  if (task_shape_of(model).predicts_symbols)
    text += fmt::format("bits per class   {:.4f} ({} predicted)\n", bits(score.evaluation.nats_per_symbol()),
                        score.evaluation.predicted);
  return text;
}

nlohmann::ordered_json describe_task_model(const NetworkModel<float>& model, const std::string& file) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const ParameterInfo& p : model.parameters().info())
    parameters.push_back({{"name", p.name}, {"rows", p.rows}, {"cols", p.cols}});
  return {{"file", file},
          {"model", model.spec_text()},
          {"task", task_of(model)},
          {"parameter_count", model.parameters().size()},
          {"parameters", std::move(parameters)},
          {"card", model.card()}};
}

std::string task_model_text(const NetworkModel<float>& model, const std::string& file) {
  std::string text =
      fmt::format("file        {}\nmodel       {}\ntask        {} ({})\nparameters  {}\n", file,
                  model.spec_text(), task_of(model), what_it_reads(task_shape_of(model)), model.parameters().size());
  for (const ParameterInfo& p : model.parameters().info())
    text += fmt::format("  {:<24} {:>7} x {:<7} {:>10}\n", p.name, p.rows, p.cols, p.size());
  for (const auto& entry : model.history()) text += fmt::format("history     {}\n", entry.dump());
  return text;
}

std::string task_table(const Task& task, TaskPart part, std::uint64_t seed, Index count) {
  const TaskShape shape = task.shape();
  std::string table = "example\tstep";
  if (shape.reads_symbols) table += "\tinput";
  for (Index i = 0; !shape.reads_symbols && i < shape.inputs; ++i) table += fmt::format("\tinput{}", i + 1);
  table += "\ttarget\n";
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
        const float target = example.target_values[step];  // tasks with values have one output
        table += std::isnan(target) ? "\t-\n" : fmt::format("\t{}\n", target);
      }
    }
  }
  return table;
}

}  // namespace unfold
