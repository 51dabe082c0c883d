#pragma once
/// The passes of a training step over a batch that is divided into shards (data/shards.h), of which this process has
/// some: losses, gradients and products with the curvature are sums over shards, added in the order of a tree and known
/// to all processes. Undivided, they are BatchPass and Curvature, to the bit.
///
/// Every function but the setters is called by all processes alike.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unfold/data/shards.h"
#include "unfold/optim/batch_pass.h"
#include "unfold/optim/curvature.h"
#include "unfold/optim/gradient_parts.h"
#include "unfold/optim/objective.h"
#include "unfold/processes/shard_sum.h"

namespace unfold {

/// The seed of what is drawn in a shard: rows and chains of parts are numbered anew in each.
std::uint64_t seed_of_shard(std::uint64_t seed, Index shard);

template <class T>
class ShardedPass {
 public:
  /// As BatchPass. UsageError: penalties on shards, which are means over a whole batch.
  ShardedPass(const Network<T>& network, Team& team, std::size_t memory_limit, const PenaltyOptions& penalties,
              const Sharding& sharding);

  void set_parameters(const Parameters<T>& parameters) { pass_.set_parameters(parameters); }
  void set_dropout_seed(std::uint64_t seed) { dropout_seed_ = seed; }

  /// As those of BatchPass. Of the state, each process carries the slots of its shards.
  double forward(const Batch& batch, State<T>& state);
  double gradient(const Batch& batch, State<T>& state, double scale, std::span<T> gradient, bool accumulate);
  /// As `gradient`, of which `own` becomes the slices of this process, one behind the other; the loss in nats.
  SliceGradient gradient_of_slices(const Batch& batch, State<T>& state, double scale, std::span<T> own);
  /// Which parameters each process adds; REQUIRES a divided batch.
  const Slices& slices();
  /// What each process has in its slices of a vector to all.
  void spread(std::span<T> vector) { sum().spread(vector); }
  Resident<T>* resident() { return sharding_.divided() ? nullptr : pass_.resident(); }
  double penalty(const Batch& batch) const { return sharding_.divided() ? 0 : pass_.penalty(batch); }
  std::string find_non_finite(const Batch& batch, const State<T>& state);

 private:
  /// pass(batch) for each shard of this process, null where it has no chains: their nats.
  template <class Pass>
  std::vector<double> over_shards(const Batch& batch, const Pass& pass);
  /// The gradients of the shards of this process go into the sum, parts that are complete in the background.
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
  std::vector<GradientPart> parts_;         // of the sum
  std::vector<std::string> segment_names_;  // of the timeline
  std::unique_ptr<ShardSum<T>> sum_;
  Buffer<T> scratch_;
};

template <class T>
class ShardedCurvature {
 public:
  /// As Curvature.
  ShardedCurvature(const Network<T>& network, Distance distance, Team& team, const Sharding& sharding);

  void start(const Parameters<T>& parameters, std::span<const CurvaturePart<T>> parts);
  void product(std::span<const T> v, double structural, std::span<T> result);
  void sample(std::uint64_t seed, double structural, std::span<T> result);

 private:
  /// A shard of this process: what it has of the batches.
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
