#pragma once
/// Planning of training in several processes: what a message costs, what a step costs, and so what a step costs in K
/// processes, by the model
///
///   t(K) = a b + c + m alpha + 2 (K - 1) / K P / B + ceil(log2 K) alpha
///
/// b: sequences that each process has; a, c: of a step in one process, by the sequence and apart from them (the
/// optimiser above all, of which several processes run slices); alpha: of a message, of which an exchange waits for
/// m = 2 log2 K where K is a power of two, else 2 (K - 1); B: bytes a second between two processes; P: bytes of the
/// parameters, of which each process sends and receives slices, twice (ShardSum); one small gathering a step has
/// losses, norms, the clock.
/// What overlaps, or shares a link, is not in the model.

#include <vector>

#include "unfold/processes/processes.h"
#include "unfold/studies/measurements.h"

namespace unfold {

struct LinkSpeed {
  double latency = 0;           ///< alpha, seconds
  double bytes_per_second = 0;  ///< B
};
/// Between the first process and each other one, there and back; the slowest. By all processes. REQUIRES others.
LinkSpeed measure_links(Processes& processes);

/// Seconds of a sum of vectors of this many floats over one shard of each process (ShardSum::total). By all processes.
double measure_exchange(Processes& processes, Index parameters);

struct StepCost {
  double per_sequence = 0, fixed = 0;  ///< a and c, seconds
  Index parameters = 0;
  double seconds(double sequences) const { return per_sequence * sequences + fixed; }
};
/// From steps with the batch of the shape and with half of it. The processes measure at the same time; the slowest.
StepCost measure_step(const TrainingShape& shape, Team& team, double seconds, Processes& processes);

/// Of a step of all processes together, each with a shard of the shape's batch; the slowest. The timeline begins anew.
double measure_step_together(const TrainingShape& shape, Team& team, double seconds, Processes& processes,
                             Timeline& timeline);

/// Of the exchange in one step: bytes under way, and messages waited for.
struct ExchangeCost {
  double bytes = 0, messages = 0;  ///< seconds
  double seconds() const { return bytes + messages; }
};
ExchangeCost exchange_cost(const LinkSpeed& link, Index parameters, int processes);

struct StepPrediction {
  int processes = 1;
  double computing = 0;  ///< seconds
  ExchangeCost exchange = {};
  double efficiency = 0;  ///< against as many times the speed of one process
  double seconds() const { return computing + exchange.seconds(); }
};
/// K = 1, 2, 4 to 1024 with one batch divided among them: those where each still has a sequence.
std::vector<StepPrediction> predict_divided(const StepCost& cost, const LinkSpeed& link, Index batch);
/// The same with a batch of `batch` sequences for each process.
std::vector<StepPrediction> predict_growing(const StepCost& cost, const LinkSpeed& link, Index batch);
/// Sequences for each process at which so many are as efficient as wanted.
double sequences_for(const StepCost& cost, const LinkSpeed& link, int processes, double efficiency);

}  // namespace unfold
