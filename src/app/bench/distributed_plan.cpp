#include "app/bench/distributed_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/bench/distributed_trace.h"
#include "app/plots/plot.h"
#include "app/train/setup/train_processes.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using DistributedJson = nlohmann::ordered_json;
constexpr int kTracedSteps = 3;

/// Returns the fraction of the exchange that overlaps with computation.
double hidden_share(const DistributedResults& f) { return std::max(0.0, 1 - f.waited / f.exchange_measured); }

std::string prediction_rows(const std::vector<StepPrediction>& predictions) {
  std::string text = fmt::format("{:>10} {:>12} {:>11} {:>14} {:>10} {:>10}\n", "processes", "ms/step", "efficiency",
                                 "of it computing", "sending", "waiting");
  for (const StepPrediction& p : predictions) {
    const auto share = [&](double seconds) { return 100 * seconds / p.seconds(); };
    text +=
        fmt::format("{:>10} {:>12.3f} {:>9.0f} % {:>13.0f} % {:>8.0f} % {:>8.0f} %\n", p.processes, p.seconds() * 1e3,
                    100 * p.efficiency, share(p.computing), share(p.exchange.bytes), share(p.exchange.messages));
  }
  return text;
}

DistributedJson to_json(const std::vector<StepPrediction>& predictions) {
  DistributedJson rows = DistributedJson::array();
  for (const StepPrediction& p : predictions)
    rows.push_back({{"processes", p.processes},
                    {"seconds_per_step", p.seconds()},
                    {"seconds_computing", p.computing},
                    {"seconds_sending", p.exchange.bytes},
                    {"seconds_waiting", p.exchange.messages},
                    {"efficiency", p.efficiency}});
  return rows;
}

template <class Seconds>
Curve curve_of(const std::string& label, const std::vector<StepPrediction>& predictions, const Seconds& seconds) {
  Curve curve{.label = label, .points = {}};
  for (const StepPrediction& p : predictions) {
    const double y = seconds(p) * 1e3;
    curve.points.push_back({static_cast<double>(p.processes), {y, y, y}});
  }
  return curve;
}

/// Returns the largest number of processes up to which all predicted efficiencies are sufficient; 1 if none is.
int most_efficient(const std::vector<StepPrediction>& predictions, double wanted) {
  int most = 1;
  for (const StepPrediction& p : predictions) {
    if (p.efficiency < wanted) break;
    most = p.processes;
  }
  return most;
}

}  // namespace

DistributedResults bench_distributed(const DistributedBench& bench, Processes& all) {
  if (all.alone() && (!bench.latency || !bench.bandwidth))
    throw UsageError(
        "there is one process and no link to measure: start it as `mpirun -n 2 unfold bench --distributed`, or "
        "describe a network with --latency SECONDS and --bandwidth BYTES");
  if (all.alone() && bench.trace) throw UsageError("--trace needs several processes; start the command with mpirun");
  DistributedResults f;
  f.processes = all.count();
  f.measured_link = !bench.latency || !bench.bandwidth;
  if (f.measured_link) f.link = measure_links(all);
  if (bench.latency) f.link.latency = *bench.latency;
  if (bench.bandwidth) f.link.bytes_per_second = *bench.bandwidth;
  Team team(threads_of_process(bench.threads, all));
  f.cost = measure_step(bench.shape, team, bench.seconds, all);
  if (!all.alone()) {
    f.exchange_measured = measure_exchange(all, f.cost.parameters);
    Timeline timeline;
    f.step_measured = measure_step_together(bench.shape, team, bench.seconds, all, timeline);
    f.waited = all.of_first(waited_in_step(timeline));
    if (bench.trace) f.trace = to_trace(all, timeline, kTracedSteps);
  }
  f.divided = predict_divided(f.cost, f.link, bench.shape.batch);
  f.growing = predict_growing(f.cost, f.link, bench.shape.batch);
  return f;
}

std::string to_text(const DistributedBench& bench, const DistributedResults& f) {
  constexpr double kWanted = 0.8;
  const TrainingShape& shape = bench.shape;
  std::string text = fmt::format(
      "link            {:.1f} us per message, {:.2f} GB/s ({})\nstep            {}, batch {}, window {}: {:.3f} ms per "
      "sequence plus {:.3f} ms\nexchange        {} parameters, {:.2f} MB\n",
      f.link.latency * 1e6, f.link.bytes_per_second / 1e9, f.measured_link ? "the slowest measured" : "as given",
      shape.model, shape.batch, shape.window, f.cost.per_sequence * 1e3, f.cost.fixed * 1e3, f.cost.parameters,
      static_cast<double>(f.cost.parameters) * sizeof(float) / 1e6);
  if (f.processes > 1) {
    const double each = static_cast<double>(shape.batch);
    text += fmt::format(
        "{} processes     exchange {:.3f} ms measured, {:.3f} ms predicted\n                step of {} sequences per "
        "process {:.3f} ms measured, {:.3f} ms predicted\n",
        f.processes, f.exchange_measured * 1e3, exchange_cost(f.link, f.cost.parameters, f.processes).seconds() * 1e3,
        shape.batch, f.step_measured * 1e3,
        (f.cost.seconds(each) + exchange_cost(f.link, f.cost.parameters, f.processes).seconds()) * 1e3);
    text += fmt::format(
        "                {:.3f} ms of the step waiting for the exchange: {:.0f} % of an exchange is hidden\n",
        f.waited * 1e3, 100 * hidden_share(f));
  }
  text += fmt::format("\nStrong scaling: a batch of {} divided among K processes (predicted)\n{}", shape.batch,
                      prediction_rows(f.divided));
  text += fmt::format("\nWeak scaling: a batch of {} for each of K processes (predicted)\n{}", shape.batch,
                      prediction_rows(f.growing));
  const int most = most_efficient(f.divided, kWanted);
  text += fmt::format("\nAdvice (efficiency {:.0f} % or more): for a batch of {}, use {} process{}", 100 * kWanted,
                      shape.batch, most, most == 1 ? "" : "es");
  for (const int k : {4, 16, 64})
    text += fmt::format("; for {} processes, use a batch of {:.0f} and --shards {}", k,
                        k * sequences_for(f.cost, f.link, k, kWanted), k);
  return text + "\n";
}

std::string to_plot(const DistributedBench& bench, const DistributedResults& f) {
  std::vector<Curve> curves = {
      curve_of("weak scaling", f.growing, [](const StepPrediction& p) { return p.seconds(); }),
      curve_of("strong scaling", f.divided, [](const StepPrediction& p) { return p.seconds(); }),
      curve_of("weak: transfer", f.growing, [](const StepPrediction& p) { return p.exchange.bytes; }),
      curve_of("weak: latency", f.growing, [](const StepPrediction& p) { return p.exchange.messages; })};
  return line_plot(fmt::format("A step of {}, batch {}: {:.3g} us per message, {:.3g} GB/s", bench.shape.model,
                               bench.shape.batch, f.link.latency * 1e6, f.link.bytes_per_second / 1e9),
                   {.label = "processes", .logarithmic = true}, {.label = "ms", .logarithmic = true}, curves);
}

DistributedJson to_json(const DistributedBench& bench, const DistributedResults& f) {
  DistributedJson json = {{"model", bench.shape.model},
                          {"batch", bench.shape.batch},
                          {"window", bench.shape.window},
                          {"symbols", bench.shape.symbols},
                          {"parameters", f.cost.parameters},
                          {"processes", f.processes},
                          {"latency_seconds", f.link.latency},
                          {"bytes_per_second", f.link.bytes_per_second},
                          {"seconds_per_sequence", f.cost.per_sequence},
                          {"seconds_fixed", f.cost.fixed},
                          {"divided", to_json(f.divided)},
                          {"growing", to_json(f.growing)}};
  if (f.processes > 1)
    json.update({{"exchange_seconds_measured", f.exchange_measured},
                 {"exchange_seconds", exchange_cost(f.link, f.cost.parameters, f.processes).seconds()},
                 {"seconds_per_step_measured", f.step_measured},
                 {"seconds_waited", f.waited},
                 {"hidden_share", hidden_share(f)}});
  return json;
}

}  // namespace unfold
