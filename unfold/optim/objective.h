#pragma once
/// What an optimiser sees of a training step: parameters, and the mean loss in nats per predicted symbol of the current
/// batch with its gradient; products with its curvature, where an optimiser asks for them. Metrics that look inside
/// the network get the batch itself.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "unfold/base/error.h"
#include "unfold/base/team.h"
#include "unfold/circuit/parameters.h"
#include "unfold/data/batch.h"
#include "unfold/losses/network.h"
#include "unfold/processes/slices.h"

namespace unfold {

/// Of structural damping: how far apart two activities h and k of a unit are. D is the second derivative in k at k = h.
enum class Distance {
  none,     ///< no structural damping
  squared,  ///< 1/2 (h - k)^2: D = 1
  /// Cross-entropy of the two-valued variable whose mean the unit is: of logistic units D = 1 / (h (1 - h)), of tanh
  /// units D = 1 / (1 - h^2): at the pre-activation s' and 1 - h^2. Any other unit: squared.
  matching
};

/// How the sums over paths of a path-normalised direction read the circuit: over one chain as long as the longest of
/// the batch, with the output read where the batch has something to predict.
struct PathReading {
  const Circuit* circuit = nullptr;
  int output = -1;  ///< node: the signal of the head
  Index length = 1;
  bool every_step = true;  ///< false: only the last position of each sequence is predicted
};

/// The batch of a training step, and the network that is laid over it. Refers to what the objective owns.
template <class T>
struct EnteredBatch {
  const Network<T>& network;
  const Batch& batch;
  const State<T>& entering;  ///< the state before the batch
  State<T>& leaving;         ///< to be set to the state after it, at the parameters before the step
  std::optional<std::uint64_t> dropout_seed;
};

/// Of a gradient of which each process has some slices.
struct SliceGradient {
  double loss = 0;  ///< of all shards
  double norm = 0;  ///< of the whole gradient
};

template <class T>
class Objective {
 public:
  virtual ~Objective() = default;
  virtual Parameters<T>& parameters() = 0;
  virtual Team& team() = 0;
  /// What is trained. Throws UsageError where there is no network.
  virtual const Network<T>& network() const {
    throw UsageError("this optimiser needs a network to look into, and there is none");
  }
  /// The loss at the present parameters; sets `gradient` [parameters].
  virtual double gradient(std::span<T> gradient) = 0;
  /// Where a step may be taken with the parameters (engine/backend.h): `gradient` is then asked for with an empty span,
  /// and stays there. Null: on the host.
  virtual Resident<T>* resident() { return nullptr; }
  /// Where several processes divide the parameters among them: which has which, until the end of the run. nullptr: each
  /// has all.
  virtual const Slices* slices() { return nullptr; }
  /// As `gradient`, of which `own` becomes the slices of this process, one behind the other. REQUIRES slices().
  virtual SliceGradient gradient_of_slices(std::span<T> /*own*/) { return {}; }
  /// When each process has moved the parameters in its slices: gives them to all. REQUIRES slices().
  virtual void spread_parameters() {}
  /// The loss alone, of the same batch at the present parameters.
  virtual double loss() = 0;
  /// Predicted symbols of the batch.
  virtual double predicted() const { return 1; }
  /// Whether every step sees the same batch, and the loss is the same at the same parameters.
  virtual bool repeats() const { return false; }
  /// Predicted symbols of a sequence of the batch (of a chain of it), on average.
  virtual double symbols_per_sequence() const { return 1; }

  /// Readies the curvature at the present parameters, on a part of the batches: the first `share` of them, at
  /// least one that predicts something. The distance is that of the first call. REQUIRES `gradient` of this batch.
  virtual void start_curvature(double /*share*/, Distance /*damping*/) {
    throw UsageError("this objective offers no curvature");
  }
  /// result = (G + structural S) v: Gauss-Newton matrix and structural damping (curvature.h). REQUIRES start_curvature.
  virtual void curvature_product(std::span<const T> /*v*/, double /*structural*/, std::span<T> /*result*/) {
    throw UsageError("this objective offers no curvature");
  }
  /// A random vector of covariance G + structural S, a function of the seed. REQUIRES start_curvature.
  virtual void curvature_sample(std::uint64_t /*seed*/, double /*structural*/, std::span<T> /*result*/) {
    throw UsageError("this objective offers no curvature");
  }

  /// Throws UsageError where there is no circuit.
  virtual PathReading path_reading() { throw UsageError("a path-normalised direction needs a circuit"); }
  /// For steps that run their own passes, instead of `gradient`: the batch, entered; then `entered` with the loss at
  /// the present parameters, before they move.
  /// UsageError: this objective has no batch of symbols.
  virtual EnteredBatch<T> enter() {
    throw UsageError("this optimiser needs a network to look into, and there is none");
  }
  virtual void entered(double /*loss*/) {}
  /// How the batch is divided, for steps that run their own passes.
  virtual Sharding sharding() const { return {}; }
};

}  // namespace unfold
