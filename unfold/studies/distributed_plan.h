#pragma once
/// `unfold bench --distributed`: what a step of training would cost in K processes.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "unfold/studies/distributed.h"

namespace unfold {

struct DistributedBench {
  TrainingShape shape;
  double seconds = 1;                        ///< of measuring each step
  std::optional<double> latency, bandwidth;  ///< of a network that is not at hand: seconds, bytes a second
  Index threads = 0;                         ///< of each process; 0: its share
  bool trace = false;
};

/// By all processes. Throws UsageError: one process, and no network given.
struct DistributedFigures {
  LinkSpeed link;
  bool measured_link = false;
  StepCost cost;
  int processes = 1;
  double exchange_measured = 0, step_measured = 0;  ///< of these processes; 0: one process alone
  double waited = 0;                                ///< seconds of a step that wait for the exchange
  std::string trace = {};                           ///< of some steps, where it is wanted
  std::vector<StepPrediction> divided, growing;
};
DistributedFigures bench_distributed(const DistributedBench& bench, Processes& processes);

std::string to_text(const DistributedBench& bench, const DistributedFigures& figures);
/// A step over the number of processes, as a picture (SVG).
std::string to_plot(const DistributedBench& bench, const DistributedFigures& figures);
nlohmann::ordered_json to_json(const DistributedBench& bench, const DistributedFigures& figures);

}  // namespace unfold
