#pragma once
/// Options of the objective of a training step (batch_objective.h).

#include <atomic>
#include <memory>
#include <string>

#include "optim/rtrl/forward_gradient.h"
#include "train/passes/sharded_pass.h"
#include "unfold/train/objective/output_feedback.h"

namespace unfold {

struct BatchObjectiveOptions {
  std::string optimizer = {};  ///< SPEC of the optimizer, for messages
  Index batches = 1;           ///< number of batches per step
  std::uint64_t seed = 1;      ///< seed of dropout
  std::size_t memory_limit = 0;
  PenaltyOptions penalties = {};                     ///< penalties are the mean over the batches
  bool own_outputs = false;                          ///< whether read_own_outputs will be called
  Feedback feedback = {};                            ///< whether the gradient also flows through these outputs
  GradientMethod gradient = {};                      ///< gradient method: backpropagation or a forward method
                                                     ///< (forward_gradient.h)
  Precision precision = Precision::exact;            ///< precision of loss and gradient; curvature requires `exact`
                                                     ///< (UsageError)
  Precision activations = Precision::exact;          ///< precision of activations stored for the gradient; curvature
                                                     ///< requires `exact`
  std::shared_ptr<const Offload> offload = nullptr;  ///< where the passes run; if null, the passes run on the team
  Sharding sharding = {};                            ///< sharding of each batch
  /// Polled between and within passes, which throw BrokenOff if it is set; parameters and optimizer may then be between
  /// two steps.
  const std::atomic<bool>* stop = nullptr;
  /// Like the flag above, but polled only within the first gradient of a step, when only `carried` has changed.
  const std::atomic<bool>* stop_first = nullptr;
};

}  // namespace unfold
