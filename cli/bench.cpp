#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

#include "app/bench/distributed_plan.h"
#include "app/bench/measurements.h"
#include "app/bench/peak_performance.h"
#include "app/bench/profile.h"
#include "app/bench/symbol_profile.h"
#include "cli/shared_options.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"
#include "distributed/launch.h"
#include "numerics/simd.h"
#include "unfold/base/formats/file.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

using Json = nlohmann::ordered_json;

class Bench final : public Verb {
 public:
  Bench();
  ExitCode run(Console& console) override;

 private:
  Json peak_rates_json(Team& team);
  Json training_json(const TrainingShape& shape, Team& team) const;
  void one_model(Team& team);
  void check_model() const;
  void profile(Team& team);
  void symbol_cost(Team& team);
  void profile_table(Team& team);
  void memory(Team& team);
  void whole_table(Team& team, Console& console);
  void distributed();
  Json products(Team& team, Console& console) const;
  Json trainings(Team& team, Console& console) const;
  Json steppers(Console& console) const;
  void say(const std::string& text) const;

  std::optional<std::string> model_, plot_, trace_, text_;
  bool stepper_ = false, profile_ = false, memory_ = false, distributed_ = false;
  std::optional<double> latency_, bandwidth_;
  Index batch_ = 32, window_ = 64, symbols_ = 64;
  double seconds_ = 1;
  Floor floor_;
};

Bench::Bench()
    : Verb(CommandOptions(
          "bench", "measures the speed of this machine: peak rates, matrix products, training and stepping",
          {"unfold bench", "unfold bench --model lstm:512 --batch 32 --threads 2 --json",
           "unfold bench --model gru:128 --batch 16 --profile", "unfold bench --profile --seconds 0.2",
           "unfold bench --model ppm:5 --profile", "unfold bench --model hmm:50 --profile --text book.txt --json",
           "unfold bench --model lstm:512 --memory", "unfold bench --stepper",
           "mpirun -n 2 unfold bench --distributed --model lstm:512 --batch 32"})) {
  options_.add({.name = "model",
                .target = &model_,
                .placeholder = "SPEC",
                .help = "measure only training of this model: forward, backward and Adam on random symbols; for fitted "
                        "models (ppm, cm, ctw, hmm, ngram) with --profile: the time per symbol",
                .group = OptionGroup::model,
                .common = true});
  options_.add({.name = "batch",
                .target = &batch_,
                .placeholder = "N",
                .help = "sequences per batch in the measured training steps",
                .least = 1,
                .most = 65536,
                .group = OptionGroup::training,
                .common = true});
  options_.add({.name = "window",
                .target = &window_,
                .placeholder = "N",
                .help = "symbols of each sequence per step",
                .least = 1,
                .most = 65536,
                .group = OptionGroup::training,
                .common = true});
  options_.add(alphabet_size_row(symbols_, 20000));
  options_.add({.name = "profile",
                .target = &profile_,
                .help = "print the time of each stage of a training step (or of one symbol) and the attainable time on "
                        "this machine; without --model, the time of whole steps of LSTM, GRU and RNN with 128 to 1024 "
                        "units and batches of 1 to 64",
                .group = OptionGroup::execution,
                .common = true});
  options_.add({.name = "text",
                .target = &text_,
                .placeholder = "FILE",
                .help = "with --profile of a fitted model: read the first MiB of this file instead of artificial text",
                .file = FileUse::data,
                .group = OptionGroup::data,
                .common = true});
  options_.add({.name = "memory",
                .target = &memory_,
                .help = "with --model: print the planned, allocated and resident memory of a training step in bytes",
                .group = OptionGroup::execution});
  options_.add({.name = "stepper",
                .target = &stepper_,
                .help = "measure only symbol-by-symbol prediction, with 64 to 1024 units",
                .group = OptionGroup::execution});
  options_.add({.name = "distributed",
                .target = &distributed_,
                .help = "estimate the time of a step of --model (lstm:512) in up to 1024 processes from the measured "
                        "time of a step and of communication between the mpirun processes",
                .common = true});
  options_.add({.name = "latency",
                .target = &latency_,
                .placeholder = "SECONDS",
                .help = "with --distributed: use this number of seconds per message instead of measuring it",
                .least = 0,
                .group = OptionGroup::execution});
  options_.add(
      {.name = "bandwidth",
       .target = &bandwidth_,
       .placeholder = "BYTES",
       .help = "with --distributed: use this number of bytes per second between two processes instead of measuring it",
       .least = 1,
       .group = OptionGroup::execution});
  options_.add({.name = "plot",
                .target = &plot_,
                .placeholder = "FILE",
                .help = "with --distributed: also plot the time per step against the number of processes (SVG)",
                .file = FileUse::written,
                .group = OptionGroup::output});
  options_.add({.name = "trace",
                .target = &trace_,
                .placeholder = "FILE",
                .help = "with --distributed: also write computation and communication of the mpirun processes in three "
                        "steps as a trace for chrome://tracing or Perfetto",
                .file = FileUse::written,
                .group = OptionGroup::output});
  options_.add({.name = "seconds",
                .target = &seconds_,
                .placeholder = "N",
                .help = "time for each training shape",
                .least = 0.01,
                .most = 3600,
                .group = OptionGroup::budget,
                .common = true});
  add_threads();
  add_common();
}

/// Prints the lines of the table as they are measured.
void Bench::say(const std::string& text) const {
  if (json_) return;
  print_result(text);
  print_result("\n");
  flush_results();
}

std::string threads_of(const Team& team) {
  return fmt::format("{} thread{}", team.size(), team.size() == 1 ? "" : "s");
}

Json Bench::peak_rates_json(Team& team) {
  floor_ = measure_peak_rates(team);
  say(fmt::format(
      "{}, {}: peak {:.1f} GFLOP/s, {:.1f} GB/s from the L2 cache (per thread), {:.1f} GB/s from "
      "memory (all threads)",
      threads_of(team), simd_name(), floor_.flops / 1e9, floor_.bytes_from_l2 / 1e9, floor_.bytes_from_memory / 1e9));
  constexpr double kQuiet = 0.9;
  if (floor_.processors < kQuiet)
    say(fmt::format(
        "Other programs used the processors for {:.0f} % of that time; the results would be better on an idle machine.",
        100 * (1 - floor_.processors)));
  return {{"threads", team.size()},
          {"simd", simd_name()},
          {"processors", floor_.processors},
          {"flops", floor_.flops},
          {"bytes_per_second_near_cache", floor_.bytes_from_l2},
          {"bytes_per_second_memory", floor_.bytes_from_memory}};
}

Json Bench::training_json(const TrainingShape& shape, Team& team) const {
  Team as_in_training(team.size());
  const TrainingSpeed speed = measure_training(shape, as_in_training, seconds_);
  return {{"model", shape.model},
          {"batch", shape.batch},
          {"window", shape.window},
          {"symbols", shape.symbols},
          {"threads", team.size()},
          {"simd", simd_name()},
          {"symbols_per_second", speed.symbols_per_second},
          {"seconds_per_step", speed.seconds_per_step},
          {"parameters", speed.parameters},
          {"flops_per_symbol", speed.flops_per_symbol},
          {"share_of_peak", speed.flops_per_symbol * speed.symbols_per_second / floor_.flops}};
}

std::string training_row(const Json& row) {
  return fmt::format("{:<10} {:>6} {:>7} {:>11.1f} {:>10.2f} {:>9.1f} {:>7.0f} %", row["model"].get<std::string>(),
                     row["batch"].get<Index>(), row["window"].get<Index>(),
                     row["symbols_per_second"].get<double>() / 1e3, row["seconds_per_step"].get<double>() * 1e3,
                     row["flops_per_symbol"].get<double>() * row["symbols_per_second"].get<double>() / 1e9,
                     100 * row["share_of_peak"].get<double>());
}

std::string training_heading() {
  return fmt::format("{:<10} {:>6} {:>7} {:>11} {:>10} {:>9} {:>9}", "training", "batch", "window", "k symbols/s",
                     "ms/step", "GFLOP/s", "of peak");
}

void Bench::one_model(Team& team) {
  peak_rates_json(team);
  const Json row = training_json({to_string(parse_model_spec(*model_)), batch_, window_, symbols_}, team);
  if (json_) return print_result(one_line(row));
  say(training_heading());
  say(training_row(row));
}

/// Profiles a training step by stage: measured time, attainable time and their ratio.
void Bench::profile(Team& team) {
  const std::string model = to_string(parse_model_spec(*model_));
  const Profile profile = measure_profile({model, batch_, window_, symbols_}, team, seconds_);
  const auto row = [](const ProfileLine& line) {
    return fmt::format("{:<20} {:>10.1f} {:>10.1f} {:>10.3f} {:>12.3f} {:>7.0f} %", line.stage, line.operations / 1e6,
                       line.bytes / 1e6, line.seconds * 1e3, line.attainable_seconds * 1e3,
                       line.seconds > 0 ? 100 * line.attainable_seconds / line.seconds : 0);
  };
  const ProfileLine whole{"step", 0, 0, profile.seconds_per_step, profile.attainable_seconds};
  say(fmt::format("{}, batch {}, window {}, {}, {}", model, batch_, window_, threads_of(team), simd_name()));
  say(fmt::format("{:<20} {:>10} {:>10} {:>10} {:>12} {:>9}", "stage", "M ops", "MB", "ms", "attainable", "share"));
  Json stages = Json::array();
  for (const ProfileLine& line : profile.lines) {
    say(row(line));
    stages.push_back({{"stage", line.stage},
                      {"operations", line.operations},
                      {"bytes", line.bytes},
                      {"seconds", line.seconds},
                      {"attainable_seconds", line.attainable_seconds}});
  }
  say(row(whole));
  if (!json_) return;
  print_result(one_line({{"model", model},
                         {"batch", batch_},
                         {"window", window_},
                         {"symbols", symbols_},
                         {"threads", team.size()},
                         {"simd", simd_name()},
                         {"stages", stages},
                         {"seconds_per_step", profile.seconds_per_step},
                         {"attainable_seconds", profile.attainable_seconds},
                         {"share_of_attainable", profile.attainable_seconds / profile.seconds_per_step}}));
}

/// Measures the cost per symbol of a fitted model.
void Bench::symbol_cost(Team& team) {
  constexpr Index kMadeUp = Index{1} << 18, kMost = Index{1} << 20;
  std::string text = text_ ? read_file(*text_) : artificial_text(kMadeUp);
  text.resize(std::min(text.size(), static_cast<std::size_t>(kMost)));
  const SymbolProfile cost = measure_symbol_cost(*model_, text, team, seconds_);
  Json json = to_json(cost);
  json["threads"] = team.size();
  json["simd"] = simd_name();
  print_result(json_ ? one_line(json) : to_text(cost));
}

void Bench::check_model() const {
  const bool fitted = model_ && is_fitted_model(canonical_model(*model_));
  if (fitted && !profile_)
    throw UsageError(
        fmt::format("{} is fitted, not trained in steps; use bench --model {} --profile to measure the time per symbol",
                    *model_, *model_));
  if (text_ && !fitted) throw UsageError("--text requires a fitted model, as in --model ppm --profile");
}

/// Prints, for each size, the ratio of attainable to measured time and the stages that lose the most time.
void Bench::profile_table(Team& team) {
  Json rows = Json::array();
  say(fmt::format("window {}, {}, {}", window_, threads_of(team), simd_name()));
  say(fmt::format("{:<22} {:>6} {:>10} {:>12} {:>9}   {}", "model", "batch", "ms", "attainable", "share",
                  "largest losses, ms"));
  for (const char* cell : {"lstm:{}", "gru:{},reset=after", "rnn:{}"}) {
    for (const Index units : {128, 256, 512, 1024}) {
      for (const Index batch : {1, 16, 32, 64}) {
        const std::string model = to_string(parse_model_spec(fmt::format(fmt::runtime(cell), units)));
        const Profile found = measure_profile({model, batch, window_, symbols_}, team, seconds_);
        std::vector<ProfileLine> lines = found.lines;
        const auto lost = [](const ProfileLine& line) { return line.seconds - line.attainable_seconds; };
        std::ranges::sort(lines, std::greater<>(), lost);
        std::string most;
        for (std::size_t i = 0; i < 3; ++i)
          most += fmt::format("{}{} {:.2f}", i == 0 ? "" : ", ", lines[i].stage, lost(lines[i]) * 1e3);
        const double share = found.attainable_seconds / found.seconds_per_step;
        say(fmt::format("{:<22} {:>6} {:>10.3f} {:>12.3f} {:>7.0f} %   {}", model, batch, found.seconds_per_step * 1e3,
                        found.attainable_seconds * 1e3, 100 * share, most));
        rows.push_back({{"model", model},
                        {"batch", batch},
                        {"seconds_per_step", found.seconds_per_step},
                        {"attainable_seconds", found.attainable_seconds},
                        {"share_of_attainable", share}});
      }
    }
  }
  if (json_) print_result(one_line({{"threads", team.size()}, {"simd", simd_name()}, {"profiles", rows}}));
}

void Bench::memory(Team& team) {
  const std::string model = to_string(parse_model_spec(*model_));
  const MemoryUse use = measure_memory({model, batch_, window_, symbols_}, team);
  const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  say(fmt::format("{}, batch {}, window {}: planned {:.2f} MiB, allocated {:.2f}, resident {:.2f} ({:.1f} % over plan)",
                  model, batch_, window_, mib(use.planned), mib(use.allocated), mib(use.resident),
                  100 * (mib(use.resident) / mib(use.planned) - 1)));
  if (json_)
    print_result(one_line({{"model", model},
                           {"batch", batch_},
                           {"window", window_},
                           {"planned_bytes", use.planned},
                           {"allocated_bytes", use.allocated},
                           {"resident_bytes", use.resident}}));
}

Json Bench::products(Team& team, Console& console) const {
  Json rows = Json::array();
  say(fmt::format("\n{:<24} {:>9} {:>9}", "product  M x K x N", "GFLOP/s", "of peak"));
  for (const Index units : {Index{128}, Index{512}, Index{1024}}) {
    for (const Index m : {Index{1}, Index{16}, Index{32}, Index{128}}) {
      console.progress(fmt::format("product {} x {} x {}", m, units, 4 * units));
      const double flops = measure_product({m, units, 4 * units}, team, seconds_ / 5);
      say(fmt::format("{:<24} {:>9.1f} {:>7.0f} %", fmt::format("{} x {} x {}", m, units, 4 * units), flops / 1e9,
                      100 * flops / floor_.flops));
      rows.push_back(
          {{"m", m}, {"k", units}, {"n", 4 * units}, {"flops", flops}, {"share_of_peak", flops / floor_.flops}});
    }
  }
  return rows;
}

Json Bench::trainings(Team& team, Console& console) const {
  Json rows = Json::array();
  say(fmt::format("\n{}", training_heading()));
  struct Size {
    Index units, batch;
  };
  for (const char* cell : {"lstm", "gru", "rnn"}) {
    for (const Size size : {Size{128, 1}, Size{128, 16}, Size{512, 32}}) {
      const std::string model = fmt::format("{}:{}", cell, size.units);
      console.progress(fmt::format("training {} x {}", model, size.batch));
      rows.push_back(training_json({model, size.batch, window_, symbols_}, team));
      say(training_row(rows.back()));
    }
  }
  return rows;
}

Json Bench::steppers(Console& console) const {
  Team team(threads_ > 0 ? threads() : 1, Attendance::all);  // a step is too short to be divided among threads
  Json rows = Json::array();
  say(
      fmt::format("\n{:<12} {:>10} {:>12} {:>8} {:>10} {:>10}   {}; floor: one thread reads the weights once "
                  "from its caches",
                  "stepper", "us/step", "floor", "ratio", "99.9 %", "worst", threads_of(team)));
  for (const char* cell : {"lstm", "gru", "rnn"}) {
    for (const Index units : {64, 128, 256, 512, 1024}) {
      const std::string model = fmt::format("{}:{}", cell, units);
      console.progress(fmt::format("stepper {}", model));
      const StepperSpeed speed = measure_stepper(model, symbols_, team, seconds_ / 4);
      say(fmt::format("{:<12} {:>10.2f} {:>12.2f} {:>8.2f} {:>10.2f} {:>10.2f}", model, speed.seconds_per_step * 1e6,
                      speed.floor_seconds * 1e6, speed.seconds_per_step / speed.floor_seconds, speed.rare * 1e6,
                      speed.worst * 1e6));
      rows.push_back({{"model", model},
                      {"symbols", symbols_},
                      {"threads", team.size()},
                      {"microseconds_per_step", speed.seconds_per_step * 1e6},
                      {"rare_microseconds", speed.rare * 1e6},
                      {"worst_microseconds", speed.worst * 1e6},
                      {"weight_bytes", speed.weight_bytes},
                      {"floor_microseconds", speed.floor_seconds * 1e6}});
    }
  }
  return rows;
}

void Bench::whole_table(Team& team, Console& console) {
  Json json;
  json["floor"] = peak_rates_json(team);
  json["products"] = products(team, console);
  json["training"] = trainings(team, console);
  json["stepper"] = steppers(console);
  if (json_) print_result(one_line(json));
}

void Bench::distributed() {
  const DistributedBench bench{
      .shape = {to_string(parse_model_spec(model_.value_or("lstm:512"))), batch_, window_, symbols_},
      .seconds = seconds_,
      .latency = latency_,
      .bandwidth = bandwidth_,
      .threads = threads_,
      .trace = trace_.has_value()};
  Processes& processes = launched_processes();
  const DistributedResults figures = bench_distributed(bench, processes);
  if (!processes.first()) return;
  if (plot_) write_file_atomically(*plot_, to_plot(bench, figures));
  if (trace_) write_file_atomically(*trace_, figures.trace);
  print_result(json_ ? one_line(to_json(bench, figures)) : to_text(bench, figures));
}

ExitCode Bench::run(Console& console) {
  if (model_ && stepper_) throw UsageError("--model and --stepper cannot be combined; leave one of them out");
  if (memory_ && !model_) throw UsageError("--memory needs a --model to measure");
  if (static_cast<int>(memory_) + static_cast<int>(profile_) + static_cast<int>(stepper_) +
          static_cast<int>(distributed_) >
      1)
    throw UsageError("--profile, --memory, --stepper and --distributed cannot be combined; use only one of them");
  if ((latency_ || bandwidth_ || plot_ || trace_) && !distributed_)
    throw UsageError("--latency, --bandwidth, --plot and --trace require --distributed");
  check_model();
  if (distributed_) {
    distributed();
    return ExitCode::success;
  }
  if (!launched_processes().alone())
    throw UsageError(
        "several processes were started, but only bench --distributed supports them; run other benchmarks in one "
        "process");
  Team team(threads(), Attendance::all);
  if (profile_ && !model_) {
    profile_table(team);
  } else if (profile_) {
    is_fitted_model(*model_) ? symbol_cost(team) : profile(team);
  } else if (memory_) {
    memory(team);
  } else if (model_) {
    one_model(team);
  } else if (stepper_) {
    const Json rows = steppers(console);
    if (json_) print_result(one_line({{"stepper", rows}}));
  } else {
    whole_table(team, console);
  }
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_bench() { return std::make_unique<Bench>(); }

}  // namespace unfold
