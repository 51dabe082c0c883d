#pragma once
/// The passes of a training step over a batch that is divided into shards (data/text/shards.h), some of which belong to
/// this process. Losses, gradients and curvature products are sums over shards, added in tree order and available to
/// all processes. Without sharding they are bit-identical to BatchPass and Curvature.
///
/// All functions except the setters are collective: every process must call them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/text/shards.h"
#include "distributed/shard_sum.h"
#include "train/passes/curvature.h"
#include "train/passes/gradient_parts.h"
#include "unfold/optim/direction/objective.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {

/// Returns the seed for random numbers in a shard. Shards need different seeds because each shard numbers its rows and
/// the chains of its parts from 0.
std::uint64_t seed_of_shard(std::uint64_t seed, Index shard);

template <class T>
class ShardedPass {
 public:
  /// See BatchPass. Throws UsageError for penalties with several shards, because they are means over a whole batch.
  ShardedPass(const Network<T>& network, Team& team, std::size_t memory_limit, const PenaltyOptions& penalties,
              const Sharding& sharding);

  void set_parameters(const Parameters<T>& parameters) { pass_.set_parameters(parameters); }
  void set_dropout_seed(std::uint64_t seed) { dropout_seed_ = seed; }

  /// See BatchPass. Each process carries the state slots of its shards.
  double forward(const Batch& batch, State<T>& state);
  double gradient(const Batch& batch, State<T>& state, double scale, std::span<T> gradient, bool accumulate);
  /// Like `gradient`; `own` receives the concatenated slices of this process. The loss is in nats.
  SliceGradient gradient_of_slices(const Batch& batch, State<T>& state, double scale, std::span<T> own);
  /// Returns the slices that each process sums. REQUIRES a divided batch.
  const Slices& slices();
  /// Distributes each process's slices of a vector to all processes.
  void spread(std::span<T> vector) { sum().spread(vector); }
  Resident<T>* resident() { return sharding_.divided() ? nullptr : pass_.resident(); }
  double penalty(const Batch& batch) const { return sharding_.divided() ? 0 : pass_.penalty(batch); }
  std::string find_non_finite(const Batch& batch, const State<T>& state);

 private:
  /// Calls pass(batch) for each shard of this process (null if the shard has no chains); returns their nats.
  template <class Pass>
  std::vector<double> over_shards(const Batch& batch, const Pass& pass);
  /// Adds the gradients of this process's shards to the sum; complete parts are summed in the background.
  std::vector<double> add_gradients(const Batch& batch, State<T>& state, double scale);
  void seed_dropout(const Batch& batch, Index shard);
  ShardSum<T>& sum();

  Team& team_;
  Sharding sharding_;
  BatchPass<T> pass_;
  BatchShards shards_;
  Batch room_;
  std::shared_ptr<const Plan> plan_;
  std::optional<std::uint64_t> dropout_seed_;
  std::vector<GradientPart> parts_;         // parts of the sum
  std::vector<std::string> segment_names_;  // names for the timeline
  std::unique_ptr<ShardSum<T>> sum_;
  Buffer<T> scratch_;
};

template <class T>
class ShardedCurvature {
 public:
  /// See Curvature.
  ShardedCurvature(const Network<T>& network, Distance distance, Team& team, const Sharding& sharding);

  void start(const Parameters<T>& parameters, std::span<const CurvaturePart<T>> parts);
  void product(std::span<const T> v, double structural, std::span<T> result);
  void sample(std::uint64_t seed, double structural, std::span<T> result);

 private:
  /// A shard of this process: its part of the batches.
  struct Shard {
    std::unique_ptr<Curvature<T>> curvature;
    std::vector<std::unique_ptr<Batch>> batches = {};
    bool empty = true;
  };
  template <class Work>
  void over_shards(std::span<T> result, const Work& work);

  Team& team_;
  Sharding sharding_;
  BatchShards batch_shards_;
  std::vector<Shard> shards_;
  std::unique_ptr<ShardSum<T>> sum_;
};

}  // namespace unfold
