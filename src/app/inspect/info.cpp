#include "app/inspect/info.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "app/evaluate/task_evaluation.h"
#include "app/fields/field_model.h"
#include "app/forecast/forecast_table.h"
#include "app/logs/log_data.h"
#include "app/plots/plot.h"
#include "app/plots/training_curve.h"
#include "app/predict/predict.h"
#include "base/formats/trusted_json.h"
#include "model/forecast/segments/segment_model.h"
#include "model/logs/log_event.h"
#include "model/registry/run_folder.h"
#include "unfold/base/formats/file.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

LogSummary read_log(const std::string& path) {
  LogSummary result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto entry = try_parse_trusted_json(line);
    if (!entry.is_object()) continue;  // a line that was truncated by a system crash
    ++result.entries;
    result.last = entry.dump();
    const auto best = entry.find("best");
    if (text_under(entry, "event") == "validation" && best != entry.end() && *best == true)
      result.best_validation = result.last;
  }
  return result;
}

ModelInfo describe_task_model(const std::string& model) {
  return with_task_model(model, [&](const auto& loaded) {
    ModelInfo info{.file = model_file(model),
                   .model = loaded.spec_text(),
                   .task = task_of(loaded),
                   .reads = describe_shape(task_shape_of(loaded)),
                   .parameter_count = loaded.parameters().size(),
                   .card = loaded.card()};
    for (const ParameterInfo& p : loaded.parameters().info()) info.tensors.push_back({p.name, p.rows, p.cols});
    return info;
  });
}

std::optional<LogSummary> log_of(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(model, ignored)) return {};
  return read_log(RunFolder(model).log());
}

template <class T>
ModelInfo describe_fields(const NetworkModel<T>& model) {
  ModelInfo info{.file = {},
                 .model = model.spec_text(),
                 .format = model.data().source,
                 .inputs = model.layout().reads,
                 .parameter_count = model.parameters().size(),
                 .card = model.card()};
  for (const FieldSpecification& field : model.data().fields) {
    const bool symbols = field.type == FieldSpecification::Type::symbols;
    info.fields.push_back({.name = field.name,
                           .type = symbols ? "symbols" : "numbers",
                           .size = field.size,
                           .once = field.once,
                           .mean = field.mean,
                           .deviation = field.deviation});
    for (const Head<T>& head : model.network().heads)
      if (head.field == field.name) info.fields.back().loss = head.loss->name();
  }
  for (const ParameterInfo& p : model.parameters().info()) info.tensors.push_back({p.name, p.rows, p.cols});
  return info;
}

nlohmann::ordered_json fields_to_json(const std::vector<FieldInfo>& fields) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FieldInfo& field : fields) {
    nlohmann::ordered_json& out = list.emplace_back();
    out = {{"name", field.name}, {"type", field.type}, {"size", field.size}, {"once", field.once}};
    if (!field.loss.empty()) out["loss"] = field.loss;
    if (field.mean.empty()) continue;
    out["mean"] = field.mean;
    out["deviation"] = field.deviation;
  }
  return list;
}

nlohmann::ordered_json logged_json(const std::string& line) {
  return line.empty() ? nlohmann::ordered_json() : parse_trusted_json(line, "an entry of the log");
}

}  // namespace

std::string size_text(const FieldInfo& field) {
  return fmt::format("{} {}", field.size, field.type == "numbers" && field.size == 1 ? "number" : field.type);
}

ModelInfo describe_model(const std::string& model) {
  if (holds_task_model(model)) return describe_task_model(model);
  if (holds_field_model(model)) {
    ModelInfo info = with_network_model(model, [](const auto& loaded) { return describe_fields(loaded); });
    info.file = model_file(model);
    info.log = log_of(model);
    return info;
  }
  if (holds_series_network(model)) {
    const forecasting::SegmentModel loaded(ModelFile::open(model));
    return {.file = model,
            .model = loaded.spec_text(),
            .format = loaded.data().source,
            .tensors = loaded.tensors(),
            .parameter_count = loaded.parameter_count(),
            .card = loaded.card()};
  }
  const std::unique_ptr<SymbolModel> loaded = load_model(model);
  ModelInfo info{.file = model_file(model),
                 .model = loaded->spec_text(),
                 .symbols = loaded->alphabet().size(),
                 .symbol_kind = std::string(to_string(loaded->alphabet().kind())),
                 .tensors = loaded->tensors(),
                 .parameter_count = loaded->parameter_count(),
                 .card = loaded->card()};
  info.log = log_of(model);
  return info;
}

std::string print_plan(const std::string& model) {
  return load_model_file(model_file(model))->need<NetworkHolder>("--plan").plan()->print();
}

nlohmann::ordered_json to_json(const ModelInfo& info) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const TensorShape& p : info.tensors)
    parameters.push_back({{"name", p.name}, {"rows", p.rows}, {"cols", p.cols}});
  nlohmann::ordered_json json = {{"file", info.file}, {"model", info.model}};
  if (!info.format.empty()) {
    json["format"] = info.format;
    json["read"] = info.inputs;
    json["fields"] = fields_to_json(info.fields);
  } else if (info.symbol_kind.empty()) {
    json["task"] = info.task;
  } else {
    json["symbols"] = info.symbols;
    json["symbol_kind"] = info.symbol_kind;
  }
  json["parameter_count"] = info.parameter_count;
  json["parameters"] = std::move(parameters);
  json["card"] = *info.card;
  if (info.log)
    json["log"] = {{"entries", info.log->entries},
                   {"best_validation", logged_json(info.log->best_validation)},
                   {"last", logged_json(info.log->last)}};
  return json;
}

namespace {

std::string logged_unit(const std::string& run) {
  const RunFolder folder(run);
  if (!folder.has_config() || read_config(folder.config()).find(name_of(&TrainSettings::predict)) == nullptr)
    return "bits per symbol";
  const auto standardized = [](const FieldInfo& field) { return !field.loss.empty() && !field.mean.empty(); };
  std::error_code none;
  const bool has_model = std::filesystem::exists(folder.model(), none);  // a run that has just started has no model
  return has_model && std::ranges::any_of(describe_model(run).fields, standardized)
             ? "bits per prediction, numbers standardized"
             : "bits per prediction";
}

}  // namespace

std::string logged_unit(const std::vector<std::string>& runs) {
  std::string unit = logged_unit(runs.front());
  for (const std::string& run : runs)
    if (const std::string other = logged_unit(run); other != unit)
      throw UsageError(
          fmt::format("{} is measured in {} but {} in {}; plot them separately", runs.front(), unit, run, other));
  return unit;
}

void plot_runs(const std::vector<std::string>& folders, const std::string& svg_file, const std::string& over) {
  const bool validated = std::ranges::none_of(folders, [&](const std::string& path) {
    return read_log_curve(RunFolder(path).log(), "validation", over, "nats_per_symbol").empty();
  });
  const char* event = validated ? "validation" : "progress";
  std::vector<std::string> models;  // models in the given order
  std::vector<std::vector<std::vector<std::pair<double, double>>>> runs;
  for (const std::string& path : folders) {
    const RunFolder folder(path);
    if (std::error_code none; !std::filesystem::exists(path, none))
      throw ModelError(fmt::format("{}: no such file; check the name", path));
    auto points = read_log_curve(folder.log(), event, over, "nats_per_symbol");
    if (points.empty())
      throw ModelError(
          fmt::format("{}: its log contains neither validations nor steps to plot; --plot requires run folders", path));
    for (auto& point : points) point.second = bits(point.second);
    const Config config = folder.has_config() ? read_config(folder.config()) : Config();
    const ConfigEntry* entry = config.find(name_of(&TrainSettings::model));
    const std::string model = entry != nullptr ? to_string(entry->value) : path;
    const auto place = static_cast<std::size_t>(std::ranges::find(models, model) - models.begin());
    if (place == models.size()) {
      models.push_back(model);
      runs.emplace_back();
    }
    runs[place].push_back(std::move(points));
  }
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < models.size(); ++i) curves.push_back({models[i], join_curves(runs[i])});
  write_file_atomically(svg_file,
                        line_plot(validated ? "Validation" : "Training", {over, true}, {logged_unit(folders)}, curves));
}

namespace {

LogTemplateList templates_of(const std::string& model) {
  const std::unique_ptr<SymbolModel> loaded = load_model(model);
  const std::optional<LogCard> card = log_card(*loaded);
  if (!card) throw UsageError(fmt::format("--templates: {} was not trained with --format log", model));
  return card->templates;
}

}  // namespace

std::string templates_text(const std::string& model) {
  std::string text = "template\tlines\ttext\n";
  for (const LogTemplateCount& one : templates_of(model).most_frequent())
    text += fmt::format("{}\t{}\t{}\n", template_name(one.id), one.lines, one.text);
  return text;
}

nlohmann::ordered_json templates_json(const std::string& model) {
  const LogTemplateList templates = templates_of(model);
  nlohmann::ordered_json json{{"lines", templates.lines()}, {"templates", nlohmann::ordered_json::array()}};
  for (const LogTemplateCount& one : templates.most_frequent())
    json["templates"].push_back({{"template", template_name(one.id)}, {"lines", one.lines}, {"text", one.text}});
  return json;
}

}  // namespace unfold
