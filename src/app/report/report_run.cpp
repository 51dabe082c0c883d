#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "app/common/perplexity.h"
#include "app/compare/evaluation_data.h"
#include "app/inspect/info.h"
#include "app/plots/training_curve.h"
#include "app/report/report_parts.h"
#include "base/formats/trusted_json.h"
#include "base/options/shell_argument.h"
#include "model/registry/run_folder.h"
#include "unfold/base/formats/config.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

using Points = std::vector<std::pair<double, double>>;

std::string folder_name(const std::string& run) {
  const std::filesystem::path path(run);
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

/// Runs that trained the same model.
struct Kin {
  std::string model;
  std::vector<std::string> runs;
};

std::vector<Kin> kin_of(const std::vector<std::string>& runs) {
  std::vector<Kin> all;
  for (const std::string& run : runs) {
    const RunFolder folder(run);
    const Config config = folder.has_config() ? read_config(folder.config()) : Config();
    const ConfigEntry* entry = config.find(name_of(&TrainSettings::model));
    const std::string model = entry != nullptr ? to_string(entry->value) : folder_name(run);
    const auto found = std::ranges::find(all, model, &Kin::model);
    if (found == all.end())
      all.push_back({model, {run}});
    else
      found->runs.push_back(run);
  }
  return all;
}

Points log_points(const std::string& run, const char* event, const char* x, const char* y, double scale) {
  Points points = read_log_curve(RunFolder(run).log(), event, x, y);
  for (auto& point : points) point.second *= scale;
  return points;
}

/// Replaces a long curve with the means over hundredths of it.
Points smoothed(const Points& points) {
  constexpr std::size_t kPoints = 200;
  if (points.size() <= kPoints) return points;
  Points result;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::size_t begin = points.size() * i / kPoints, end = points.size() * (i + 1) / kPoints;
    double x = 0, y = 0;
    for (std::size_t k = begin; k < end; ++k) x += points[k].first, y += points[k].second;
    const auto n = static_cast<double>(end - begin);
    result.emplace_back(x / n, y / n);
  }
  return result;
}

std::vector<ChartSeries> curves_over(const std::vector<Kin>& kin, const char* x, double& last) {
  std::vector<ChartSeries> series;
  for (const Kin& one : kin)
    for (const auto& [event, what] : {std::pair{"validation", "validation"}, std::pair{"progress", "training"}}) {
      std::vector<Points> runs;
      for (const std::string& run : one.runs) {
        Points points = log_points(run, event, x, "nats_per_symbol", bits(1));
        if (!points.empty()) last = std::max(last, points.back().first);
        runs.push_back(smoothed(points));
      }
      const std::string label = kin.size() > 1 ? fmt::format("{}, {}", one.model, what) : what;
      ChartSeries curve{.curve = {label, join_curves(runs)}, .style = event[0] == 'p' ? "thin" : "line"};
      if (!curve.curve.points.empty()) series.push_back(std::move(curve));
    }
  return series;
}

double best_bits(const std::string& run) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [step, value] : log_points(run, "validation", "step", "nats_per_symbol", bits(1)))
    best = std::min(best, value);
  return best;
}

std::string file_size(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? std::string() : fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

/// The updates of a log model (app/logs/log_update.h); none for other models.
struct ListedUpdates {
  struct Update {
    std::vector<std::string> logs = {};
    std::optional<double> half_life = {};
  };
  std::vector<Update> updates = {};
  Index earlier = 0;  ///< number of updates that are not listed
  std::vector<std::string> logs = {};
};

ListedUpdates updates_of(const ModelInfo& info) {
  const nlohmann::json& card = *info.card;
  const auto member = [](const nlohmann::json& json, const char* key) {
    return json.is_object() && json.contains(key) ? json[key] : nlohmann::json();
  };
  const nlohmann::json log = member(member(card, "configuration"), "log");
  ListedUpdates listed;
  for (const nlohmann::json& update : member(log, "updates")) {
    ListedUpdates::Update one;
    for (const nlohmann::json& name : member(update, "data"))
      if (name.is_string()) one.logs.push_back(name.get<std::string>());
    if (const nlohmann::json half_life = member(update, "halving-lines"); half_life.is_number())
      one.half_life = half_life.get<double>();
    listed.logs.insert(listed.logs.end(), one.logs.begin(), one.logs.end());
    listed.updates.push_back(std::move(one));
  }
  listed.earlier = whole_number<Index>(member(log, "earlier-updates")).value_or(0);
  return listed;
}

}  // namespace

PageSection card_section(const ReportRequest& request) {
  const std::string& run = request.runs.front();
  const ModelInfo info = describe_model(run);
  const TrainSettings settings = settings_of_run(run);
  std::vector<std::pair<std::string, std::string>> facts = {
      {"model", info.model},
      {"parameters", fmt::format("{}", info.parameter_count)},
      {"trained on", fmt::format("{}", fmt::join(settings.data, ", "))},
      {"updated with", fmt::format("{}", fmt::join(updates_of(info).logs, ", "))},
      {"task", info.task},
      {"reads", info.reads.empty() ? fmt::format("{}", fmt::join(info.inputs, ", ")) : info.reads},
      {"alphabet", info.symbols > 0 ? fmt::format("{} {}", info.symbols, info.symbol_kind) : std::string()},
      {"format", info.format},
      {"split", settings.split.value_or("")},
      {"validated on", settings.valid.value_or("")},
      {"optimizer", (settings.data.empty() && !settings.task) || is_fitted_model(settings.model) ? std::string()
                                                                                                 : settings.optimizer},
      {"file", info.file},
      {"Unfold", UNFOLD_VERSION}};
  PageSection section{.id = "card", .title = "Data and model", .note = "Model, data and settings."};
  for (const FieldInfo& field : info.fields)
    facts.emplace_back("field " + field.name,
                       fmt::format("{}{}{}", size_text(field), field.once ? ", once per example" : "",
                                   field.loss.empty() ? "" : ", predicted with " + field.loss));
  section.blocks.push_back(facts_block(facts));
  std::vector<std::vector<std::string>> rows;
  for (const TensorShape& t : info.tensors)
    rows.push_back({t.name, fmt::format("{} × {}", t.rows, t.cols), fmt::format("{}", t.rows * t.cols)});
  PageJson tensors = table_block({"tensor", "shape", "numbers"}, rows);
  tensors["folded"] = fmt::format("{} tensors", rows.size());
  section.blocks.push_back(std::move(tensors));
  return section;
}

namespace {

/// Returns a positional argument: the name of a file.
std::string file_argument(const std::string& file) {
  return shell_argument(file.size() > 1 && file.starts_with('-') ? "./" + file : file);
}

}  // namespace

std::string command_of(const std::string& run) {
  const RunFolder folder(run);
  if (!folder.has_config()) return {};
  std::string command = "unfold train";
  std::string options;
  const SettingTable& defaults = SettingTable::defaults();
  const Config standard = configuration(defaults.settings, defaults.run, Keep::run);
  const Config config = read_config(folder.config());
  for (const ConfigEntry& entry : config.entries()) {
    const OptionRow* row = find_row(defaults.rows, entry.key);
    if (row != nullptr && row->is_input) {
      for (const std::string& file : std::get<std::vector<std::string>>(entry.value))
        command += " " + file_argument(file);
      continue;
    }
    const ConfigEntry* usual = standard.find(entry.key);
    const bool varies = row != nullptr && row->default_varies;
    if (!varies && usual != nullptr && to_string(usual->value) == to_string(entry.value)) continue;
    if (const bool* flag = std::get_if<bool>(&entry.value)) {
      if (*flag) options += fmt::format(" \\\n  --{}", entry.key);
      continue;
    }
    const std::string value = to_string(entry.value);
    options += fmt::format(" \\\n  --{}{}{}", entry.key, value.starts_with('-') ? '=' : ' ', shell_argument(value));
  }
  return command + options + fmt::format(" \\\n  --out {}", shell_argument(run));
}

namespace {

/// Returns the commands that updated a model of a log after training.
std::string update_commands(const std::string& run) {
  const ListedUpdates listed = updates_of(describe_model(run));
  std::string commands = listed.earlier > 0 ? fmt::format("\n# {} updates that are not stored", listed.earlier) : "";
  for (const ListedUpdates::Update& update : listed.updates) {
    commands += fmt::format("\nunfold train {}", file_argument(run));
    for (const std::string& log : update.logs) commands += " --update " + shell_argument(log);
    if (update.half_life) commands += fmt::format(" --half-life {:.15g}", *update.half_life);
  }
  return commands;
}

}  // namespace

PageSection command_section(const ReportRequest& request) {
  PageSection section{
      .id = "command",
      .title = "The exact command",
      .note = "Reproduces the model bit for bit on any machine, unless the budget is given in minutes."};
  for (const std::string& run : request.runs)
    if (const std::string command = command_of(run); !command.empty())
      section.blocks.push_back(code_block(command + update_commands(run)));
  section.missing = "This is a model file; the configuration is in its run folder.";
  return section;
}

PageSection baselines_section(const std::vector<ComparedBaseline>& baselines) {
  PageSection section{.id = "baselines",
                      .title = "Baselines",
                      .note = "Simple baselines on the same data as the model, with the same metric."};
  if (baselines.empty()) section.missing = "There is no baseline for the predictions of this model.";
  std::vector<std::vector<std::string>> rows;
  rows.reserve(baselines.size());
  for (const ComparedBaseline& each : baselines)
    rows.push_back({each.of, each.baseline.measure, fmt::format("{:.4g}", each.result), each.baseline.name,
                    fmt::format("{:.4g}", each.baseline.value),
                    is_better(each.result, each.baseline) ? "the model" : "the baseline"});
  if (!rows.empty())
    section.blocks.push_back(table_block({"field", "measure", "model", "baseline", "its value", "better"}, rows));
  return section;
}

PageSection curves_section(const ReportRequest& request, const std::string& unit, const std::vector<Level>& levels,
                           const std::string& no_levels) {
  PageSection section{.id = "curves",
                      .title = "Learning",
                      .note =
                          "For several runs, the median with a band between the quartiles. Dashed: results of simpler "
                          "models on the same data."};
  const std::vector<Kin> kin = kin_of(request.runs);
  for (const auto& [key, label] : {std::pair{"step", "steps"}, std::pair{"seconds", "seconds"}}) {
    double last = 0;
    std::vector<ChartSeries> series = curves_over(kin, key, last);
    if (series.empty()) continue;
    double first = last;
    for (const ChartSeries& s : series)
      for (const CurvePoint& p : s.curve.points)
        if (p.x > 0) first = std::min(first, p.x);
    const auto level = [&](const std::string& name, double value) {
      const CurvePoint from{first, {value, value, value}}, to{last, {value, value, value}};
      series.push_back({.curve = {fmt::format("{} {:.3f}", name, value), {from, to}}, .style = "dash"});
    };
    if (request.floor) level("floor", *request.floor);
    for (const Level& one : levels) level(one.label, one.bits);
    section.blocks.push_back(
        chart_block(fmt::format("Bits over {}", label), {label, last > 30 * first}, {unit, false}, series));
  }
  if (!section.blocks.empty() && !request.floor)
    section.blocks.push_back(
        note_block("Lower bound: unknown. For generated data, unfold generate --json prints the entropy; display it "
                   "with --floor BITS."));
  if (!section.blocks.empty() && levels.empty())
    section.blocks.push_back(note_block("Baselines: " + (no_levels.empty() ? "not requested." : no_levels)));
  section.missing =
      "The log contains neither steps nor validations: this is a model file, or the model was fitted in one pass.";
  return section;
}

PageSection seeds_section(const ReportRequest& request, const std::string& unit) {
  PageSection section{
      .id = "seeds", .title = "Spread of the seeds", .note = "The best validation loss of each run, in bits."};
  section.missing =
      "There is only one run. Train with other values of --seed and pass all folders: unfold report run-1 run-2 run-3 "
      "-o page.html";
  if (request.runs.size() < 2) return section;
  std::vector<Bar> bars;
  std::vector<std::vector<std::string>> rows;
  for (const Kin& one : kin_of(request.runs)) {
    std::vector<double> best;
    for (const std::string& run : one.runs) {
      const double value = best_bits(run);
      if (std::isfinite(value)) best.push_back(value);
      const Index seed = settings_of_run(run).seed;
      rows.push_back({folder_name(run), one.model, fmt::format("{}", seed),
                      std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"});
    }
    if (!best.empty()) bars.push_back({fmt::format("{} ({} runs)", one.model, best.size()), quartiles(best)});
  }
  if (bars.empty()) {
    section.missing = "The runs contain no validations.";
    return section;
  }
  section.blocks.push_back(bars_block("Median, and quartiles", unit, bars));
  section.blocks.push_back(table_block({"run", "model", "seed", "best validation, " + unit}, rows));
  return section;
}

PageSection cost_section(const ReportRequest& request) {
  PageSection section{.id = "cost", .title = "Time and memory", .note = "Resources used by training."};
  std::vector<std::vector<std::string>> rows;
  std::vector<ChartSeries> speeds;
  for (const std::string& run : request.runs) {
    const Points speed = log_points(run, "progress", "step", "symbols_per_second", 1);
    const Points symbols = log_points(run, "progress", "seconds", "symbols", 1);
    const Points done = log_points(run, "done", "step", "seconds", 1);
    if (speed.empty() && done.empty()) continue;
    const double seconds = !done.empty() ? done.back().second : symbols.back().first;
    const double read = symbols.empty() ? 0 : symbols.back().second;
    rows.push_back({folder_name(run), fmt::format("{:.1f}", seconds),
                    read > 0 ? fmt::format("{:.0f}", read) : std::string("-"),
                    read > 0 && seconds > 0 ? fmt::format("{:.0f}", read / seconds) : std::string("-"),
                    file_size(RunFolder(run).model()), file_size(RunFolder(run).checkpoint())});
    if (speed.size() > 1 && speeds.size() < kMostCurves)
      speeds.push_back({.curve = {folder_name(run), join_curves({smoothed(speed)})}});
  }
  section.missing = "The log contains no times: this is a model file.";
  if (rows.empty()) return section;
  section.blocks.push_back(table_block(
      {"run", "seconds", "symbols read", "symbols/s", "model file", "checkpoint (model and optimizer)"}, rows));
  if (!speeds.empty())
    section.blocks.push_back(chart_block("Symbols per second", {"steps"}, {"symbols per second"}, speeds));
  return section;
}

PageSection samples_section(const ReportRequest& request, const std::string& last_sample) {
  PageSection section{.id = "samples",
                      .title = "Samples over time",
                      .note = "Text sampled from the model during training, and from the final model."};
  PageJson samples = PageJson::array();
  std::ifstream file(RunFolder(request.runs.front()).log());
  for (std::string line; std::getline(file, line);) {
    const PageJson entry = try_parse_trusted_json(line);
    if (!entry.is_object() || text_under(entry, "event") != "sample") continue;
    const auto step = entry.find("step");
    samples.push_back({{"when", fmt::format("step {}", step != entry.end() ? step->dump() : "?")},
                       {"text", text_under(entry, "text")}});
  }
  constexpr std::size_t kShown = 8;
  PageJson some = PageJson::array();
  const std::size_t shown = std::min(kShown, samples.size());
  for (std::size_t i = 0; i < shown; ++i)
    some.push_back(samples[shown > 1 ? i * (samples.size() - 1) / (shown - 1) : 0]);
  const bool none = some.empty();
  if (!last_sample.empty()) some.push_back({{"when", "the best model"}, {"text", last_sample}});
  section.missing = "The model does not generate text, or the log contains no samples (train --sample-every N).";
  if (some.empty()) return section;
  section.blocks.push_back({{"kind", "samples"}, {"samples", std::move(some)}});
  if (none)
    section.blocks.push_back(
        note_block("No samples during training; unfold train --sample-every N stores them in the log."));
  return section;
}

}  // namespace unfold
