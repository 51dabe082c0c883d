#include "app/sweep/sweep.h"
#include "base/formats/trusted_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "app/common/perplexity.h"
#include "app/common/work_distribution.h"
#include "app/sweep/run_settings_record.h"
#include "app/train/setup/train_processes.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

using SweepJson = nlohmann::ordered_json;

std::vector<std::string> divided(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) c == by ? void(parts.emplace_back()) : parts.back().push_back(c);
  return parts;
}

/// Returns a SPEC with one option set.
std::string with_option(const std::string& spec, const std::string& key, const std::string& value) {
  Spec parsed = parse_spec(spec);
  if (key == "units") {
    parsed.size = value;
    return to_string(parsed);
  }
  const auto found = std::ranges::find(parsed.values, key, &std::pair<std::string, std::string>::first);
  if (found != parsed.values.end())
    found->second = value;
  else
    parsed.values.emplace_back(key, value);
  return to_string(parsed);
}

/// Returns the message of the exception that `check` throws; empty if it does not throw.
template <class Check>
std::string complaint(const Check& check) {
  try {
    (void)check();
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

void assign_in_spec(const std::string& key, const std::string& value, TrainRequest& request) {
  TrainSettings& s = request.settings;
  const bool to_model = key.starts_with("model."), to_optimizer = key.starts_with("optimizer.");
  const std::string name = key.substr(to_model ? 6 : to_optimizer ? 10 : 0);
  const std::string model = with_option(s.model, name, value), optimizer = with_option(s.optimizer, name, value);
  const std::string model_refuses = complaint([&] { return canonical_model(model); });
  const std::string optimizer_refuses =
      name == "units" ? "units is an option of the model" : complaint([&] { return canonical_optimizer(optimizer); });
  const bool in_model = !to_optimizer && model_refuses.empty(), in_optimizer = !to_model && optimizer_refuses.empty();
  if (in_model && in_optimizer)
    throw UsageError(
        fmt::format("--grid: both the model and the optimizer have {0}: use model.{0} or optimizer.{0}", name));
  if (!in_model && !in_optimizer)
    throw UsageError(fmt::format("--grid {}={}: not a setting of train; {}{}{}", key, value,
                                 to_optimizer ? "" : model_refuses, to_optimizer || to_model ? "" : "; ",
                                 to_model ? "" : optimizer_refuses));
  (in_model ? s.model : s.optimizer) = in_model ? model : optimizer;
  request.given.emplace(in_model ? "model" : "optimizer");
}

/// One run of a grid point.
struct SweepRun {
  TrainRequest request;
  std::string description;
  SweepJson result = {};
};

struct SweepPoint {
  std::vector<std::string> values;
  std::string name;
  std::vector<SweepRun> runs = {};
};

class Sweeping {
 public:
  Sweeping(const SweepRequest& request, Reporter& reporter)
      : r_(request),
        reporter_(reporter),
        all_(request.processes != nullptr ? *request.processes : single_process()),
        axes_(parse_grid(request.grid)) {}
  SweepOutcome run();

 private:
  void plan();
  SweepRun run_of(const SweepPoint& point, Index seed) const;
  Index threads() const;
  bool read_result(SweepRun& run) const;
  void carry_out(SweepRun& run, Reporter& reporter) const;
  void require_measure() const;
  void require_one_that_ended() const;
  std::string find_measure() const;
  std::vector<double> measured(const SweepPoint& point, const std::string& measure) const;
  SweepOutcome outcome(const std::string& measure) const;
  void write_results(const SweepOutcome& outcome) const;

  const SweepRequest& r_;
  Reporter& reporter_;
  Processes& all_;
  std::vector<SweepAxis> axes_;
  std::vector<SweepPoint> points_;
};

/// Concurrent runs share the processors.
Index Sweeping::threads() const {
  if (r_.base.run.threads > 0) return r_.base.run.threads;
  return std::max(1, threads_of_process(0, all_) / static_cast<int>(std::max<Index>(1, r_.jobs)));
}

SweepRun Sweeping::run_of(const SweepPoint& point, Index seed) const {
  SweepRun run{.request = r_.base, .description = {}};
  for (const bool whole : {true, false})  // whole SPECs first, then their options
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if ((axes_[a].key == name_of(&TrainSettings::model) || axes_[a].key == name_of(&TrainSettings::optimizer)) ==
          whole)
        assign_in_sweep(axes_[a].key, point.values[a], run.request);
  run.request.settings.seed = r_.base.settings.seed + seed;
  run.request.run.threads = threads();
  run.request.given.add(&TrainSettings::seed, &RunSettings::threads);
  run.request.out = fmt::format("{}/{}/seed-{}", r_.base.out, point.name, run.request.settings.seed);
  run.description = to_json(configuration(run.request.settings, run.request.run, Keep::fixed)).dump();
  return run;
}

/// Lists all grid points; the last axis varies fastest.
void Sweeping::plan() {
  points_.assign(1, {});
  for (const SweepAxis& axis : axes_) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points_)
      for (const std::string& value : axis.values) {
        SweepPoint next = point;
        next.values.push_back(value);
        next.name += fmt::format("{}{}={}", next.name.empty() ? "" : ";", axis.key, value);
        std::ranges::replace(next.name, '/', '-');
        longer.push_back(std::move(next));
      }
    points_ = std::move(longer);
  }
  for (SweepPoint& point : points_)
    for (Index seed = 0; seed < r_.seeds; ++seed) point.runs.push_back(run_of(point, seed));
}

bool Sweeping::read_result(SweepRun& run) const {
  const SweepJson old = try_parse_trusted_json_file(run.request.out + "/result.json");
  if (!old.is_object() || text_under(old, "settings") != run.description) return false;
  run.result = old;
  return true;
}

/// Trains a run, or resumes it if it was interrupted with the same settings.
void Sweeping::carry_out(SweepRun& run, Reporter& reporter) const {
  TrainRequest request = run.request;
  (can_resume(request.out, run.description) ? request.resume : request.overwrite) = true;
  SweepJson result;
  try {
    result = parse_trusted_json(to_json(train(request, reporter)).dump(), "result");
  } catch (const DivergedError& error) {
    result = {{"failed", error.what()}};
  } catch (const InterruptedError&) {
    throw InterruptedError(fmt::format("interrupted in {}; run the same command again to continue", request.out));
  }
  result["settings"] = run.description;
  write_file_atomically(request.out + "/result.json", result.dump(2) + "\n");
}

/// Returns the number at a path such as `valid/perplexity`; empty if there is none.
std::optional<double> number_at(const SweepJson& result, const std::string& place) {
  try {
    const SweepJson::json_pointer pointer((place.starts_with('/') ? "" : "/") + place);
    if (result.contains(pointer) && result.at(pointer).is_number()) return result.at(pointer).get<double>();
  } catch (const SweepJson::exception&) {  // the path is not a valid JSON pointer, for example because of a lone ~
  }
  return {};
}

/// Returns the paths of all numbers in a result.
std::vector<std::string> places_of_numbers(const SweepJson& result) {
  std::vector<std::string> places;
  const SweepJson flat = result.flatten();
  for (const auto& [place, value] : flat.items())
    if (value.is_number()) places.push_back(place.substr(1));
  return places;
}

/// Throws UsageError if no run has the requested measure, which suggests a typing error. If all runs diverged, this
/// cannot be decided.
void Sweeping::require_measure() const {
  std::vector<std::string> places;
  for (const SweepPoint& point : points_)
    for (const SweepRun& run : point.runs) {
      if (number_at(run.result, *r_.measure)) return;
      if (places.empty() && !run.result.contains("failed")) places = places_of_numbers(run.result);
    }
  if (places.empty()) return;
  throw UsageError(
      fmt::format("--measure {}: no run has this metric; the available metrics are {}{} (finished runs are kept: the "
                  "same command with a different --measure does not repeat them)",
                  *r_.measure, fmt::join(places, ", "), did_you_mean(*r_.measure, places)));
}

/// Throws DivergedError if all runs diverged. The results have already been written by then.
void Sweeping::require_one_that_ended() const {
  std::string first;
  for (const SweepPoint& point : points_)
    for (const SweepRun& run : point.runs) {
      if (!run.result.contains("failed")) return;
      if (first.empty()) first = fmt::format("{}: {}", run.request.out, run.result["failed"].get<std::string>());
    }
  if (all_.first()) write_results(outcome(r_.measure.value_or("")));
  throw DivergedError(fmt::format("every run failed; the first failure: {}", first));
}

/// Returns the path of the measure: the requested one, or the first default that occurs in a result.
std::string Sweeping::find_measure() const {
  if (r_.measure) {
    require_measure();
    return *r_.measure;
  }
  for (const SweepPoint& point : points_)
    for (const SweepRun& run : point.runs) {
      const SweepJson valid = run.result.value("valid", SweepJson::object());
      for (const char* name : {"error_rate", "mean_squared_error", "bits_per_symbol"})
        if (valid.is_object() && valid.contains(name)) return fmt::format("valid/{}", name);
      if (!valid.is_object() || !valid.contains("heads")) continue;
      for (const auto& [field, figures] : valid["heads"].items())
        for (const char* name : {"error_rate", "nrmse", "nats_per_position", "nats_per_example"})
          if (figures.contains(name)) return fmt::format("valid/heads/{}/{}", field, name);
    }
  throw UsageError(
      "the runs have no metrics: specify validation data (--split, --valid), or the path of a metric with --measure");
}

/// Returns the measure of the runs that have it.
std::vector<double> Sweeping::measured(const SweepPoint& point, const std::string& measure) const {
  std::vector<double> result;
  for (const SweepRun& run : point.runs)
    if (const std::optional<double> number = number_at(run.result, measure)) result.push_back(*number);
  return result;
}

/// Returns whether larger values of a measure are better, based on its name.
bool more_is_better(const std::string& measure) {
  return measure.ends_with("accuracy") || measure.ends_with("_f1") || measure.ends_with("auc");
}

SweepOutcome Sweeping::outcome(const std::string& measure) const {
  SweepOutcome result{.table = {}, .measure = measure, .best = {}, .results_file = r_.base.out + "/sweep.json"};
  for (const SweepAxis& axis : axes_) result.table.heading.push_back(axis.key);
  for (const char* name : {"mean", "deviation", "best", "runs", "seconds"}) result.table.heading.emplace_back(name);
  const bool more = more_is_better(measure);
  double best = std::numeric_limits<double>::infinity();
  for (const SweepPoint& point : points_) {
    const std::vector<double> found = measured(point, measure);
    const auto n = static_cast<double>(found.size());
    double mean = 0, squares = 0, seconds = 0;
    for (const double x : found) mean += x / n;
    for (const double x : found) squares += (x - mean) * (x - mean);
    for (const SweepRun& run : point.runs) seconds += run.result.value("seconds", 0.0);
    std::vector<std::string> row = point.values;
    if (found.empty()) {
      row.insert(row.end(), {"failed", "", ""});
    } else {
      const auto [least, most] = std::ranges::minmax(found);
      row.push_back(fmt::format("{:.5g}", mean));
      row.push_back(found.size() > 1 ? fmt::format("{:.2g}", std::sqrt(squares / (n - 1))) : "");
      row.push_back(fmt::format("{:.5g}", more ? most : least));
      if ((more ? -mean : mean) < best) best = more ? -mean : mean, result.best = point.name;
    }
    row.push_back(fmt::format("{} of {}", found.size(), point.runs.size()));
    row.push_back(fmt::format("{:.1f}", seconds / static_cast<double>(point.runs.size())));
    result.table.rows.push_back(std::move(row));
  }
  return result;
}

void Sweeping::write_results(const SweepOutcome& outcome) const {
  SweepJson points = SweepJson::array();
  for (const SweepPoint& point : points_) {
    SweepJson settings, runs = SweepJson::array();
    for (std::size_t a = 0; a < axes_.size(); ++a) settings[axes_[a].key] = point.values[a];
    for (const SweepRun& run : point.runs) {
      SweepJson result = run.result;
      result.erase("settings");
      runs.push_back(std::move(result));
    }
    points.push_back({{"point", settings}, {"values", measured(point, outcome.measure)}, {"runs", std::move(runs)}});
  }
  const SweepJson all = {
      {"grid", r_.grid}, {"seeds", r_.seeds}, {"measure", outcome.measure}, {"best", outcome.best}, {"points", points}};
  write_file_atomically(outcome.results_file, all.dump(2) + "\n");
}

SweepOutcome Sweeping::run() {
  if (r_.base.out.empty()) throw UsageError("sweep needs --out DIR, the folder for runs and results");
  plan();
  std::vector<WorkPiece> pieces;
  for (SweepPoint& point : points_)
    for (SweepRun& run : point.runs)
      pieces.push_back({.name = fmt::format("{}, seed {}", point.name, run.request.settings.seed),
                        .claim = run.request.out + ".claim",
                        .is_done = [this, &run] { return read_result(run); },
                        .do_it = [this, &run](Reporter& reporter) { carry_out(run, reporter); }});
  do_work(pieces, {.jobs = r_.jobs, .processes = r_.processes}, reporter_);
  require_one_that_ended();
  SweepOutcome result = outcome(find_measure());
  if (all_.first()) write_results(result);
  return result;
}

}  // namespace

std::vector<SweepAxis> parse_grid(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("--grid {}: {}; expected, for example, 'rate=1e-3,3e-3;units=128,256'", in_quotes(text), why));
  };
  std::vector<SweepAxis> axes;
  std::set<std::string> keys;
  for (const std::string& part : divided(text, ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) refuse(in_quotes(part) + " is not of the form NAME=VALUES");
    SweepAxis axis{part.substr(0, equals), {}};
    const std::string values = part.substr(equals + 1);
    axis.values = divided(values, values.find('|') == std::string::npos ? ',' : '|');
    if (std::ranges::find(axis.values, "") != axis.values.end()) refuse(fmt::format("{} has an empty value", axis.key));
    for (auto value = axis.values.begin(); value != axis.values.end(); ++value)
      if (std::find(axis.values.begin(), value, *value) != value)
        refuse(fmt::format("{} has the value {} twice", axis.key, *value));
    if (!keys.insert(axis.key).second) refuse(fmt::format("{} occurs twice", axis.key));
    axes.push_back(std::move(axis));
  }
  return axes;
}

void assign_in_sweep(const std::string& key, const std::string& value, TrainRequest& request) {
  const OptionRow* row = find_row(SettingTable::defaults().rows, key);
  if (row == nullptr) return assign_in_spec(key, value, request);
  const bool is_seed = row->name == name_of(&TrainSettings::seed);
  if (row->is_input || is_seed || row->name == name_of(&RunSettings::threads))
    throw UsageError(fmt::format("--grid: {} cannot be varied{}", key, is_seed ? "; --seeds N takes N of them" : ""));
  assign_text(row->name, value, request.settings, request.run);
  request.given.insert(row->name);
}

SweepOutcome sweep(const SweepRequest& request, Reporter& reporter) { return Sweeping(request, reporter).run(); }

}  // namespace unfold
