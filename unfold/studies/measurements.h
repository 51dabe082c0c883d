#pragma once
/// What `unfold bench` measures. Every figure is the median of several samples after a warm-up.

#include <string>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/base/types.h"
#include "unfold/models/language_model.h"
#include "unfold/processes/shard_sum.h"

namespace unfold {

/// One matrix product y [m x n] = x [m x k] W [k x n], W packed.
struct ProductShape {
  Index m, k, n;
};
/// Floating-point operations per second, a fused multiply-add counting two.
double measure_product(const ProductShape& shape, Team& team, double seconds);

/// One step of training on random symbols: forward, backward, Adam.
struct TrainingShape {
  std::string model;
  Index batch, window, symbols;
};
/// The model of a shape, initialised, over an alphabet of that size.
LanguageModel<float> random_model(const TrainingShape& shape);
struct TrainingSpeed {
  Index parameters = 0;
  double seconds_per_step = 0, symbols_per_second = 0;
  double flops_per_symbol = 0;  ///< of all matrix products, forward and backward
};
/// Of one of several processes, which all measure: seconds of a step of all, which divide the batch.
TrainingSpeed measure_training(const TrainingShape& shape, Team& team, double seconds, const Sharding& sharding = {});

struct StepperSpeed {
  double seconds_per_step = 0;  ///< one symbol in, one distribution over all symbols out
  double rare = 0,
         worst = 0;          ///< of steps timed one by one: 1 of 1,000 takes longer; the longest (other work included)
  double weight_bytes = 0;   ///< that products read in a step
  double floor_seconds = 0;  ///< one thread reads them once from the cache that they fit in
};
StepperSpeed measure_stepper(const std::string& model, Index symbols, Team& team, double seconds);

/// Bytes of a training step: what the plan says (engine/memory.h) with parameters, gradient and both moments of Adam,
/// what was allocated for it, and how much the process grew. A process that measures twice reuses its memory.
struct MemoryUse {
  std::size_t planned = 0, allocated = 0, resident = 0;
};
MemoryUse measure_memory(const TrainingShape& shape, Team& team);

}  // namespace unfold
