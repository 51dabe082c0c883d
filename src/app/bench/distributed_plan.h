#pragma once
/// `unfold bench --distributed`: predicts the time of a training step in K processes.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/bench/distributed.h"

namespace unfold {

struct DistributedBench {
  TrainingShape shape;
  double seconds = 1;  ///< duration of each measurement of a step
  std::optional<double> latency,
      bandwidth;      ///< latency (seconds) and bandwidth (bytes per second) of a hypothetical network
  Index threads = 0;  ///< threads per process; 0: an equal share of the processors
  bool trace = false;
};

/// Results of bench_distributed, which all processes call. bench_distributed throws UsageError for a single process
/// if no latency and bandwidth of a network are specified.
struct DistributedResults {
  LinkSpeed link;
  bool measured_link = false;
  StepEstimate cost;
  int processes = 1;
  double exchange_measured = 0, step_measured = 0;  ///< seconds, with the current processes; 0 for a single process
  double waited = 0;                                ///< seconds of a step spent waiting for the exchange
  std::string trace = {};                           ///< trace of a few steps, if requested
  std::vector<StepPrediction> divided, growing;
};
DistributedResults bench_distributed(const DistributedBench& bench, Processes& processes);

std::string to_text(const DistributedBench& bench, const DistributedResults& figures);
/// Returns a plot (SVG) of the step time versus the number of processes.
std::string to_plot(const DistributedBench& bench, const DistributedResults& figures);
nlohmann::ordered_json to_json(const DistributedBench& bench, const DistributedResults& figures);

}  // namespace unfold
