#include "app/inspect/info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/inspect/path_norm.h"
#include "base/printable.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"

namespace unfold {
namespace {

class Info final : public Verb {
 public:
  Info()
      : Verb(CommandOptions("info", "shows the contents of a model file or run folder: card, parameters, history",
                            {"unfold info run", "unfold info run/model.safetensors --json", "unfold info run --plan",
                             "unfold info run-a run-b run-c --plot curves.svg"})) {
    options_.add_inputs({.name = "model",
                         .target = &model_,
                         .placeholder = "MODEL...",
                         .help = "a run folder or model file; with --plot any number of run folders",
                         .most = std::string::npos,
                         .file = FileUse::model});
    options_.add({.name = "plan",
                  .target = &plan_,
                  .help = "print the plan of a network instead: batched and step-by-step operations"});
    options_.add({.name = "path-norm",
                  .target = &path_norm_,
                  .placeholder = "STEPS",
                  .help = "print the path norm of a ReLU network over an example of this size instead: positions of a "
                          "sequence, leaves of a tree, rows and columns of a grid",
                  .least = 1,
                  .most = 1e6});
    options_.add({.name = "plot",
                  .target = &plot_,
                  .placeholder = "FILE.svg",
                  .help = "plot the validation curves of the runs instead (the training loss if a run has no "
                          "validation); runs of equal models become one line with a band",
                  .file = FileUse::written});
    options_.add({.name = "over",
                  .target = &over_,
                  .placeholder = "seconds|steps",
                  .help = "the horizontal axis of --plot",
                  .choices = {"seconds", "steps"}});
    options_.add(
        {.name = "templates",
         .target = &templates_,
         .help =
             "instead, print the most frequent templates of the training log, with the identifiers that alarms show"});
    add_key();
    add_common();
  }
  ExitCode run(Console& console) override;

 private:
  std::vector<std::string> model_;
  std::optional<std::string> plot_;
  std::string over_ = "seconds";
  std::optional<Index> path_norm_;
  bool plan_ = false, templates_ = false;
};

std::string parameters_text(const ModelInfo& info) {
  std::string text = fmt::format("parameters  {}\n", info.parameter_count);
  for (const TensorShape& p : info.tensors)
    text += fmt::format("  {:<24} {:>7} x {:<7} {:>10}\n", p.name, p.rows, p.cols, p.rows * p.cols);
  return text;
}

/// "load  1 number, predicted with normal, standardized by mean 0.1 and deviation 0.7".
std::string field_text(const FieldInfo& field) {
  std::string text =
      fmt::format("  {:<24} {}{}", escape_value(field.name), size_text(field), field.once ? " once per example" : "");
  if (!field.loss.empty()) text += fmt::format(", predicted with {}", field.loss);
  if (field.mean.size() == 1)
    text += fmt::format(", standardized by mean {:.6g} and deviation {:.6g}", field.mean[0], field.deviation[0]);
  else if (!field.mean.empty())
    text += ", standardized per number";
  return text + "\n";
}

std::string fields_text(const ModelInfo& info) {
  std::string text = fmt::format("data        {}; reads {}\nfields\n", info.format, fmt::join(info.inputs, ", "));
  for (const FieldInfo& field : info.fields) text += field_text(field);
  return text;
}

std::string log_text(const LogSummary& log) {
  if (log.entries == 0) return {};
  std::string text = fmt::format("log         {} entries\n", log.entries);
  if (!log.best_validation.empty()) text += fmt::format("  best  {}\n", log.best_validation);
  return text + fmt::format("  last  {}\n", log.last);
}

/// Describes how a log model joins lines to records.
std::string records_text(const nlohmann::json& log) {
  if (!log.is_object() || !log.contains("records")) return "each line";
  const std::string start = log["records"].value("start", std::string());
  return start.empty() ? "stack traces and indented lines belong to the line before them"
                       : fmt::format("begin where a line matches {}", escape_cell(start));
}

/// Describes a log model without the values that it stores.
std::string log_model_text(const nlohmann::json& log) {
  const auto number = [&](const char* key) { return log.is_object() && log.contains(key) ? log[key].dump() : "?"; };
  return fmt::format("  {:<16} {} lines, {} templates (unfold info --templates prints them)\n  {:<16} {}\n", "log",
                     number("lines"), number("shapes"), "records", records_text(log));
}

std::string text_of(const ModelInfo& info) {
  const nlohmann::json& history = info.card->at("history");
  std::string text = fmt::format("file        {}\nmodel       {}\n", info.file, info.model);
  if (info.symbol_kind.empty() && info.format.empty()) {
    text += fmt::format("task        {} ({})\n", info.task, info.reads) + parameters_text(info);
    for (const auto& entry : history) text += fmt::format("history     {}\n", entry.dump());
    return text;
  }
  text += info.format.empty() ? fmt::format("symbols     {} {}\n", info.symbols, info.symbol_kind) : fields_text(info);
  text += parameters_text(info);
  const nlohmann::json& configuration = info.card->at("configuration");
  if (!configuration.empty()) text += "trained with\n";
  for (const auto& [key, value] : configuration.items())
    text += key == "log"
                ? log_model_text(value)
                : fmt::format("  {:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  if (!history.empty()) text += "history\n";
  for (const auto& run : history) text += fmt::format("  {}\n", run.dump());
  if (info.log) text += log_text(*info.log);
  return text;
}

ExitCode Info::run(Console&) {
  if (options_.is_given(over_) && !plot_) throw UsageError("--over requires --plot FILE.svg");
  if (templates_ && (plan_ || plot_))
    throw UsageError("--templates cannot be combined with --plan and --plot; leave them out");
  if (plan_ && plot_) throw UsageError("--plan cannot be combined with --plot; leave out one of them");
  if (path_norm_ && (plan_ || plot_ || templates_))
    throw UsageError("--path-norm cannot be combined with --plan, --plot and --templates; leave them out");
  if (plot_) {
    plot_runs(model_, *plot_, over_ == "steps" ? "step" : "seconds");
    if (json_) print_result(one_line({{"plot", *plot_}, {"runs", model_.size()}}));
    return ExitCode::success;
  }
  if (model_.size() > 1)
    throw UsageError("too many models: info shows one; several runs can be drawn with --plot FILE.svg");
  if (plan_) {
    const std::string text = print_plan(model_.front());
    print_result(json_ ? one_line({{"plan", text}}) : text);
    return ExitCode::success;
  }
  if (path_norm_) {
    const PathNorm norm = path_norm(model_.front(), *path_norm_);
    print_result(json_ ? one_line({{"steps", norm.steps},
                                   {"path_norm", std::isfinite(norm.value) ? nlohmann::ordered_json(norm.value)
                                                                           : nlohmann::ordered_json()},
                                   {"log_path_norm", norm.logarithm}})
                       : fmt::format("steps          {}\npath norm      {:.6g}\nits logarithm  {:.6f}\n", norm.steps,
                                     norm.value, norm.logarithm));
    return ExitCode::success;
  }
  if (templates_) {
    print_result(json_ ? one_line(templates_json(model_.front())) : templates_text(model_.front()));
    return ExitCode::success;
  }
  const ModelInfo info = describe_model(model_.front());
  print_result(json_ ? one_line(to_json(info)) : text_of(info));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_info() { return std::make_unique<Info>(); }

}  // namespace unfold
