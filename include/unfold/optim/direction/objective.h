#pragma once
/// The interface between a training step and an optimizer: the parameters, the mean loss of the current batch in nats
/// per predicted symbol, its gradient and, for optimizers that need them, curvature products. Metrics that need the
/// network's activations get the batch itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"
#include "unfold/data/text/batch.h"
#include "unfold/distributed/slices.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/paths/path_graph.h"
#include "unfold/loss/network.h"

namespace unfold {

/// Structural damping: the distance between two activations h and k of a unit. D is the second derivative with respect
/// to k at k = h.
enum class Distance {
  none,     ///< no structural damping
  squared,  ///< 1/2 (h - k)^2: D = 1
  /// Cross-entropy of the binary variable whose mean is the activation: D = 1 / (h (1 - h)) for logistic units, D = 1 /
  /// (1 - h^2) for tanh units; with respect to the pre-activation, D is s' and 1 - h^2. Other units use `squared`.
  matching
};

/// Path sums for a path-normalized direction. Sequences without a source: over one chain with the length of the longest
/// chain in the batch. Trees, grids and sequences with sources: over the structure of the batch, whose examples have
/// different numbers of paths. Outputs are read where the batch has targets.
struct PathReading {
  const Circuit* circuit = nullptr;
  int output = -1;  ///< node: the signal of the head
  Index length = 1;
  bool every_step = true;  ///< false: only the last position of each sequence has a target
  /// If this is set, it replaces the three values above: several heads, or other structures than one chain.
  std::shared_ptr<const PathGraph> graph = nullptr;
  std::span<const WeightTie> ties = {};  ///< pairs of parameters that are one
};

/// The batch of a training step and its network. Keeps references to data owned by the objective.
template <class T>
struct EnteredBatch {
  const Network<T>& network;
  const Batch& batch;
  const State<T>& entering;  ///< the state before the batch
  State<T>& leaving;         ///< must be set to the state after the batch, computed with the parameters before the step
  std::optional<std::uint64_t> dropout_seed;
};

/// The result of computing a gradient whose slices are distributed over the processes.
struct SliceGradient {
  double loss = 0;  ///< loss over all shards
  double norm = 0;  ///< norm of the whole gradient
};

template <class T>
class Objective {
 public:
  virtual ~Objective() = default;
  virtual Parameters<T>& parameters() = 0;
  virtual Team& team() = 0;
  /// Returns the network being trained. Throws UsageError if there is no network.
  virtual const Network<T>& network() const {
    throw UsageError("this optimizer requires access to the network, but there is none");
  }
  /// Returns the loss at the current parameters and sets `gradient` [parameters].
  virtual double gradient(std::span<T> gradient) = 0;
  /// Returns the object that takes steps on the device with the parameters (a GPU), or null if steps run on the host.
  /// If the result is not null, `gradient` may be called with an empty span; the gradient then stays on the device.
  virtual Resident<T>* resident() { return nullptr; }
  /// Returns the assignment of parameter slices to processes, fixed until the end of the run; nullptr if each process
  /// has all parameters.
  virtual const Slices* slices() { return nullptr; }
  /// Like `gradient`; `own` receives the concatenated slices of this process. REQUIRES slices().
  virtual SliceGradient gradient_of_slices(std::span<T> /*own*/) { return {}; }
  /// Called after each process has updated the parameters in its slices; distributes them to all processes. REQUIRES
  /// slices().
  virtual void spread_parameters() {}
  /// Returns the loss of the same batch at the current parameters, without the gradient.
  virtual double loss() = 0;
  /// Returns the number of predicted symbols of the batch.
  virtual double predicted() const { return 1; }
  /// Returns whether every step uses the same batch and the loss is deterministic.
  virtual bool repeats() const { return false; }
  /// Returns the mean number of predicted symbols per sequence (chain) of the batch.
  virtual double symbols_per_sequence() const { return 1; }

  /// Prepares the curvature at the current parameters, on a subset of the batches: the first fraction `share` of them,
  /// and at least one batch that has targets. Later calls keep the distance of the first call. REQUIRES `gradient` of
  /// this batch.
  virtual void start_curvature(double /*share*/, Distance /*damping*/) {
    throw UsageError("this objective does not support curvature");
  }
  /// result = (G + structural S) v: Gauss-Newton matrix plus structural damping. REQUIRES start_curvature.
  virtual void curvature_product(std::span<const T> /*v*/, double /*structural*/, std::span<T> /*result*/) {
    throw UsageError("this objective does not support curvature");
  }
  /// Sets a random vector with covariance G + structural S, a function of the seed. REQUIRES start_curvature.
  virtual void curvature_sample(std::uint64_t /*seed*/, double /*structural*/, std::span<T> /*result*/) {
    throw UsageError("this objective does not support curvature");
  }

  /// Throws UsageError if there is no circuit.
  virtual PathReading path_reading() { throw UsageError("a path-normalized direction requires a circuit"); }
  /// For optimizers that run their own passes instead of calling `gradient`: `enter` returns the entered batch; the
  /// optimizer then calls `entered` with the loss at the current parameters, before they change.
  /// Throws UsageError if the objective has no batch of symbols.
  virtual EnteredBatch<T> enter() {
    throw UsageError("this optimizer requires access to the network, but there is none");
  }
  virtual void entered(double /*loss*/) {}
  /// Returns how the batch is divided, for optimizers that run their own passes.
  virtual Sharding sharding() const { return {}; }
};

}  // namespace unfold
