#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "unfold/base/file.h"
#include "unfold/cli/figures.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/task_runs.h"
#include "unfold/cli/verb.h"
#include "unfold/models/language_model.h"
#include "unfold/report/log_curve.h"

namespace unfold {
namespace {

/// What log.jsonl tells: its last validations and its last entry.
struct LogSummary {
  Index entries = 0;
  nlohmann::ordered_json best, last;
};

LogSummary read_log(const std::string& path) {
  LogSummary result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    nlohmann::ordered_json entry = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!entry.is_object()) continue;  // a line that was cut off when the machine went down
    ++result.entries;
    if (entry.value("event", "") == "validation" && entry.value("best", false)) result.best = entry;
    result.last = std::move(entry);
  }
  return result;
}

class Info final : public Verb {
 public:
  Info()
      : Verb(VerbOptions("info", "shows what a model file or run folder holds: card, parameters, history",
                         {"unfold info run", "unfold info run/model.safetensors --json", "unfold info run --plan",
                          "unfold info run-a run-b run-c --plot curves.svg"})) {
    options_.add_inputs({.name = "model",
                         .target = &model_,
                         .placeholder = "MODEL...",
                         .help = "a run folder or model file; with --plot any number of run folders",
                         .most = std::string::npos});
    options_.add({.name = "plan",
                  .target = &plan_,
                  .help = "print the plan of a network instead: what runs batched, what step by step"});
    options_.add({.name = "plot",
                  .target = &plot_,
                  .placeholder = "FILE.svg",
                  .help = "draw the validation curves of the runs instead; equal models become one line with a band"});
    add_common();
  }
  ExitCode run(Console& console) override;

 private:
  void print_json(const SymbolModel& model) const;
  void print_text(const SymbolModel& model) const;
  std::optional<LogSummary> log() const;

  void plot() const;

  std::vector<std::string> model_;
  std::optional<std::string> plot_;
  bool plan_ = false;
};

/// Throws UsageError for a model that is no network.
std::string plan_text(const std::string& path) {
  if (holds_task_model(path)) return load_task_model(path).plan()->print();
  const std::unique_ptr<SymbolModel> model = load_model(path);
  if (const auto* network = dynamic_cast<const LanguageModel<float>*>(model.get())) return network->plan()->print();
  if (const auto* network = dynamic_cast<const LanguageModel<double>*>(model.get())) return network->plan()->print();
  throw UsageError(
      fmt::format("{} is {}, which is no network: it has no plan; leave --plan out", path, model->spec_text()));
}

/// Bits per symbol over the seconds of training: medians and quartiles of the runs that trained the same model.
void Info::plot() const {
  std::vector<std::string> models;  // in the order given
  std::vector<std::vector<std::vector<std::pair<double, double>>>> runs;
  for (const std::string& path : model_) {
    const RunFolder folder(path);
    auto points = read_log_curve(folder.log(), "validation", "seconds", "nats_per_symbol");
    if (points.empty())
      throw ModelError(fmt::format("{}: no validation to draw; --plot wants folders of runs that validated", path));
    for (auto& point : points) point.second = bits(point.second);
    const Config config = folder.has_config() ? read_config(folder.config()) : Config();
    const ConfigEntry* entry = config.find("model");
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
  write_file_atomically(*plot_, line_plot("Validation", {"seconds"}, {"bits per symbol"}, curves));
  if (json_) print_result(one_line({{"plot", *plot_}, {"runs", model_.size()}}));
}

std::optional<LogSummary> Info::log() const {
  std::error_code ignored;
  if (!std::filesystem::is_directory(model_.front(), ignored)) return std::nullopt;
  return read_log(RunFolder(model_.front()).log());
}

void Info::print_json(const SymbolModel& model) const {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const TensorShape& p : model.tensors())
    parameters.push_back({{"name", p.name}, {"rows", p.rows}, {"cols", p.cols}});
  nlohmann::ordered_json json = {{"file", model_file(model_.front())},
                                 {"model", model.spec_text()},
                                 {"symbols", model.alphabet().size()},
                                 {"symbol_kind", to_string(model.alphabet().kind())},
                                 {"parameter_count", model.parameter_count()},
                                 {"parameters", std::move(parameters)},
                                 {"card", model.card()}};
  if (const auto summary = log())
    json["log"] = {{"entries", summary->entries}, {"best_validation", summary->best}, {"last", summary->last}};
  print_result(one_line(json));
}

void Info::print_text(const SymbolModel& model) const {
  const Alphabet& alphabet = model.alphabet();
  std::string text =
      fmt::format("file        {}\nmodel       {}\nsymbols     {} {}\nparameters  {}\n", model_file(model_.front()),
                  model.spec_text(), alphabet.size(), to_string(alphabet.kind()), model.parameter_count());
  for (const TensorShape& p : model.tensors())
    text += fmt::format("  {:<24} {:>7} x {:<7} {:>10}\n", p.name, p.rows, p.cols, p.rows * p.cols);
  if (!model.configuration().empty()) text += "trained with\n";
  for (const auto& [key, value] : model.configuration().items())
    text += fmt::format("  {:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  if (!model.history().empty()) text += "history\n";
  for (const auto& run : model.history()) text += fmt::format("  {}\n", run.dump());
  if (const auto summary = log(); summary && summary->entries > 0) {
    text += fmt::format("log         {} entries\n", summary->entries);
    if (!summary->best.is_null()) text += fmt::format("  best  {}\n", summary->best.dump());
    text += fmt::format("  last  {}\n", summary->last.dump());
  }
  print_result(text);
}

ExitCode Info::run(Console&) {
  if (plot_) {
    plot();
    return ExitCode::success;
  }
  if (model_.size() > 1)
    throw UsageError("too many models: info shows one; several runs can be drawn with --plot FILE.svg");
  if (plan_) {
    const std::string text = plan_text(model_.front());
    print_result(json_ ? one_line({{"plan", text}}) : text);
    return ExitCode::success;
  }
  if (holds_task_model(model_.front())) {
    const TaskModel<float> task_model = load_task_model(model_.front());
    const std::string file = model_file(model_.front());
    print_result(json_ ? one_line(describe_task_model(task_model, file)) : task_model_text(task_model, file));
    return ExitCode::success;
  }
  const std::unique_ptr<SymbolModel> model = load_model(model_.front());
  if (json_)
    print_json(*model);
  else
    print_text(*model);
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_info() { return std::make_unique<Info>(); }

}  // namespace unfold
