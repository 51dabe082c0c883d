#pragma once
/// The measurements of `unfold bench`. Each result is the median of several samples after a warm-up.

#include <string>
#include <vector>

#include "distributed/shard_sum.h"
#include "unfold/base/threads/team.h"
#include "unfold/base/types.h"
#include "unfold/model/network/language_model.h"

namespace unfold {

/// A matrix product y [m x n] = x [m x k] W [k x n] with packed W.
struct ProductShape {
  Index m, k, n;
};
/// Floating-point operations per second; a fused multiply-add counts as two.
double measure_product(const ProductShape& shape, Team& team, double seconds);

/// A training step on random symbols: forward, backward, Adam.
struct TrainingShape {
  std::string model;
  Index batch, window, symbols;
};
/// Returns an initialized model of the given shape.
LanguageModel<float> random_model(const TrainingShape& shape);
struct TrainingSpeed {
  Index parameters = 0;
  double seconds_per_step = 0, symbols_per_second = 0;
  double flops_per_symbol = 0;  ///< operations of all matrix products, forward and backward
};
/// Measures training steps. With several processes, all of them call this function and divide the batch; the result is
/// the time of their joint step.
TrainingSpeed measure_training(const TrainingShape& shape, Team& team, double seconds, const Sharding& sharding = {});

struct StepperSpeed {
  double seconds_per_step =
      0;  ///< time of one step, which reads a symbol and computes the distribution of the next one
  double rare = 0,
         worst = 0;          ///< 99.9th percentile and maximum of individually timed steps (includes other load)
  double weight_bytes = 0;   ///< bytes that the products of a step read
  double floor_seconds = 0;  ///< time for one thread to read them once from the cache that they fit into
};
StepperSpeed measure_stepper(const std::string& model, Index symbols, Team& team, double seconds);

/// Memory of a training step in bytes: as predicted from the plan (graph/engine/memory.h), as allocated, and as growth
/// of the process. All include parameters, gradient and both moments of Adam. Growth is underestimated when the process
/// has measured before, because it reuses memory.
struct MemoryUse {
  std::size_t planned = 0, allocated = 0, resident = 0;
};
MemoryUse measure_memory(const TrainingShape& shape, Team& team);

}  // namespace unfold
