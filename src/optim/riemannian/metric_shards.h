#pragma once
/// The passes and sums of Riemannian training over the shards of a batch that this process owns. Each shard has a
/// separate core with its activations and metrics. The sums of the metrics are added over all shards in tree order and
/// stored in the metrics of the first shard. An undivided batch is a single shard, whose sums are used directly.

#include <memory>
#include <vector>

#include "data/text/shards.h"
#include "distributed/shard_sum.h"
#include "optim/riemannian/output_metric.h"
#include "optim/riemannian/riemannian.h"
#include "optim/riemannian/sampled_sequences.h"
#include "optim/riemannian/unit_metric.h"

namespace unfold {

template <class T>
class MetricShards {
 public:
  MetricShards(Objective<T>& objective, const RiemannianOptions& options);

  /// Return the metrics from which directions are computed; they hold the sums over all shards.
  OutputMetric<T>& output() { return *shards_.front().output; }
  UnitMetric<T>& metric() { return *shards_.front().metric; }
  bool has_metric() const { return shards_.front().metric != nullptr; }
  const CorePass<T>& core() const { return *shards_.front().core; }

  /// Runs forward through the cores. The batch and the parameters must stay alive until the next call. Each process
  /// carries the state slots of its shards.
  void forward(const EnteredBatch<T>& batch, const Parameters<T>& parameters, State<T>& state);
  /// Runs the sweep over the predictions, after `forward`; returns the nats of the whole batch.
  double outputs(const MetricWanted& wanted);
  /// Runs backward from the seeds of `outputs`: sets the gradient and its squares (or moduli) at trained initial values
  /// and accumulates the metric; without a metric, sets the whole gradient. `draw`: key of the random errors, if used.
  void backward(std::span<T> gradient, std::span<T> squares, std::uint64_t draw);

 private:
  struct Shard {
    std::unique_ptr<CorePass<T>> core;
    std::unique_ptr<OutputMetric<T>> output;
    std::unique_ptr<UnitMetric<T>> metric;     ///< metric of the units; null without a metric
    std::unique_ptr<SampledSequences<T>> own;  ///< null if the metric is measured on the data
    std::unique_ptr<CorePass<T>> own_core = nullptr;
    std::unique_ptr<UnitMetric<T>> own_metric = nullptr;
    Batch room = {};
    const Batch* batch = nullptr;      ///< part of the batch; null if the shard currently has no chains
    std::vector<double> weights = {};  ///< weights of its rows in the metric; empty if all are 1
    std::uint64_t stream = 0;
  };

  void backward(Shard& shard, std::span<T> gradient, std::span<T> squares);
  Modulus measure(Shard& shard, std::span<T> squares);
  void measure_own(Shard& shard, std::span<T> squares);
  std::span<T> clear_starts(std::span<T> squares);
  void add_starts(std::span<T> squares, std::span<const T> of_pass, double share) const;
  void weigh_rows(Shard& shard) const;
  /// Calls visit(span) for the sums of a shard, either of the outputs or of the layers below.
  template <class Visit>
  void visit_sums(Shard& shard, bool outputs, const Visit& visit);
  void add_shard(Shard& shard, bool outputs, ShardSum<double>& sum);
  void add_up(bool outputs, ShardSum<double>& sum);

  const RiemannianOptions options_;
  Team& team_;
  Sharding sharding_;
  BatchShards divided_;
  std::vector<Shard> shards_;
  const Parameters<T>* parameters_ = nullptr;
  const Batch* whole_ = nullptr;
  const State<T>* entering_ = nullptr;
  std::vector<Index> passed_;  // parameters whose gradient is set by the backward pass
  std::vector<T> scratch_;     // a gradient that is not used
  std::uint64_t draw_ = 0;
  std::vector<double> starts_;  // scratch: gradient and squares of these parameters
  std::unique_ptr<ShardSum<double>> output_sum_, unit_sum_;
  std::vector<double> total_;
};

}  // namespace unfold
