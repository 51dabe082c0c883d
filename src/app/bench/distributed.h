#pragma once
/// A performance model of data-parallel training. From measurements of message and step times it predicts the time of a
/// step in K processes:
///
///   t(K) = a b + c + m alpha + 2 (K - 1) / K P / B + ceil(log2 K) alpha
///
/// - b: sequences per process;
/// - a, c: time of a step in one process, per sequence and independent of them (mainly the optimizer, which is sharded
///   over the processes);
/// - alpha: latency of a message; an exchange waits for m messages, m = 2 log2 K if K is a power of two, otherwise
///   m = 2 (K - 1);
/// - B: bandwidth between two processes in bytes per second;
/// - P: size of the parameters in bytes, of which each process sends and receives slices twice (ShardSum).
///
/// The last term is a small gather per step for losses, norms and the clock. The model does not account for overlap of
/// computation and communication or for shared links.

#include <vector>

#include "app/bench/measurements.h"
#include "unfold/distributed/processes.h"

namespace unfold {

struct LinkSpeed {
  double latency = 0;           ///< alpha, seconds
  double bytes_per_second = 0;  ///< B
};
/// Measures round trips between the first process and each of the others and returns the slowest link. All processes
/// must call it. REQUIRES at least two.
LinkSpeed measure_links(Processes& processes);

/// Returns the seconds to sum vectors of `parameters` floats over one shard per process (ShardSum::total). Called by
/// all processes.
double measure_exchange(Processes& processes, Index parameters);

struct StepEstimate {
  double per_sequence = 0, fixed = 0;  ///< a and c, seconds
  Index parameters = 0;
  double seconds(double sequences) const { return per_sequence * sequences + fixed; }
};
/// Measures steps with the batch size of the shape and with half that size, in all processes at the same time; returns
/// the slowest result.
StepEstimate measure_step(const TrainingShape& shape, Team& team, double seconds, Processes& processes);

/// Returns the seconds of a joint step of all processes, each with a shard of the shape's batch; the maximum over
/// processes. Clears the timeline first.
double measure_step_together(const TrainingShape& shape, Team& team, double seconds, Processes& processes,
                             Timeline& timeline);

/// Predicted time of the exchange in one step: transfer of bytes, and latency of messages.
struct ExchangeCost {
  double bytes = 0, messages = 0;  ///< seconds
  double seconds() const { return bytes + messages; }
};
ExchangeCost exchange_cost(const LinkSpeed& link, Index parameters, int processes);

struct StepPrediction {
  int processes = 1;
  double computing = 0;  ///< seconds
  ExchangeCost exchange = {};
  double efficiency = 0;  ///< speedup over one process, divided by the number of processes
  double seconds() const { return computing + exchange.seconds(); }
};
/// Strong scaling: K = 1, 2, 4, ... 4096 with one batch divided among the processes, as long as each has a sequence.
std::vector<StepPrediction> predict_divided(const StepEstimate& cost, const LinkSpeed& link, Index batch);
/// Weak scaling: K = 1, 2, 4, ... 4096 with `batch` sequences per process.
std::vector<StepPrediction> predict_growing(const StepEstimate& cost, const LinkSpeed& link, Index batch);
/// Returns the number of sequences per process at which this number of processes reaches the given efficiency.
double sequences_for(const StepEstimate& cost, const LinkSpeed& link, int processes, double efficiency);

}  // namespace unfold
