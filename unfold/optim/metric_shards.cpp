#include "unfold/optim/metric_shards.h"

#include <algorithm>
#include <numeric>

namespace unfold {

template <class T>
MetricShards<T>::MetricShards(Objective<T>& objective, const RiemannianOptions& options)
    : options_(options), team_(objective.team()), sharding_(objective.sharding()), divided_(objective.network()) {
  const bool plain = options.metric == RiemannianMetric::none;
  const Index own = sharding_.divided() ? sharding_.own().size() : 1;
  for (Index i = 0; i < own; ++i) {
    Shard shard;
    shard.core = std::make_unique<CorePass<T>>(objective.network(), team_);
    shard.output = std::make_unique<OutputMetric<T>>(*shard.core, options.writing_damping, options.keep > 0);
    if (!plain)
      shard.metric = std::make_unique<UnitMetric<T>>(*shard.core, options.reduction == Reduction::full, options.damping,
                                                     options.keep > 0);
    shards_.push_back(std::move(shard));
  }
  const std::vector<ParameterInfo>& parameters = objective.parameters().info();
  if (plain) {
    passed_.resize(objective.parameters().flat().size());
    std::iota(passed_.begin(), passed_.end(), Index{0});
    return;
  }
  for (const Node& node : core().plan().nodes()) {
    if (node.kind != Node::Kind::link || node.initial < 0) continue;
    const ParameterInfo& p = parameters[at(static_cast<Index>(node.initial))];
    for (Index i = p.offset; i < p.offset + p.size(); ++i) passed_.push_back(i);
  }
}

template <class T>
void MetricShards<T>::forward(const EnteredBatch<T>& batch, const Parameters<T>& parameters, State<T>& state) {
  whole_ = &batch.batch;
  parameters_ = &parameters;
  if (sharding_.divided()) divided_.divide(*whole_, sharding_.shards);
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = shards_[i];
    shard.batch =
        sharding_.divided() ? divided_.take(sharding_.own().begin + static_cast<Index>(i), shard.room) : whole_;
    if (shard.batch != nullptr) shard.core->forward(*shard.batch, parameters, state, batch.dropout_seed);
  }
}

template <class T>
double MetricShards<T>::outputs(const MetricWanted& wanted) {
  std::vector<double> nats;
  nats.reserve(shards_.size());
  for (Shard& shard : shards_)
    nats.push_back(shard.batch == nullptr ? 0 : shard.output->pass(*shard.core, *parameters_, *shard.batch, wanted));
  if (!sharding_.divided()) return nats.front();
  if (wanted.metric) {
    Index size = 0;
    visit_sums(shards_.front(), true, [&](auto sums) { size += static_cast<Index>(sums.size()); });
    if (!output_sum_) output_sum_ = std::make_unique<ShardSum<double>>(sharding_, size);
    for (Shard& shard : shards_) add_shard(shard, true, *output_sum_);
    add_up(true, *output_sum_);
    output().count_targets(*whole_);
  }
  return sharding_.sum(nats);
}

template <class T>
void MetricShards<T>::backward(Shard& shard, std::span<T> gradient, std::span<T> squares) {
  Unfolding<T>& u = shard.core->unfolding();
  const bool plain = options_.metric == RiemannianMetric::none, outer = options_.metric == RiemannianMetric::ruop;
  // The sums of the metric are more exact than those of the pass, and make them superfluous.
  u.backward(gradient, {.weights = plain});
  if (outer) u.squares_at_starts(squares);
  if (plain) return;
  shard.metric->keep_adjoints(*shard.core);
  if (!outer) {
    shard.output->seed_variances(*shard.core);
    u.backward(squares, {.algebra = Algebra::squared, .weights = false});
  }
  shard.metric->accumulate(*shard.core, outer);
}

template <class T>
void MetricShards<T>::backward(std::span<T> gradient, std::span<T> squares) {
  if (!sharding_.divided()) return backward(shards_.front(), gradient, squares);
  starts_.assign(2 * passed_.size(), 0);
  if (!unit_sum_) {
    Index size = 0;
    visit_sums(shards_.front(), false, [&](auto sums) { size += static_cast<Index>(sums.size()); });
    unit_sum_ = std::make_unique<ShardSum<double>>(sharding_, size);
  }
  for (Shard& shard : shards_) {
    if (shard.batch != nullptr) backward(shard, gradient, squares);
    for (std::size_t i = 0; i < passed_.size(); ++i) {
      starts_[i] = static_cast<double>(gradient[at(passed_[i])]);
      starts_[passed_.size() + i] = static_cast<double>(squares[at(passed_[i])]);
    }
    add_shard(shard, false, *unit_sum_);
  }
  add_up(false, *unit_sum_);
  for (std::size_t i = 0; i < passed_.size(); ++i) {
    gradient[at(passed_[i])] = static_cast<T>(starts_[i]);
    squares[at(passed_[i])] = static_cast<T>(starts_[passed_.size() + i]);
  }
}

template <class T>
template <class Visit>
void MetricShards<T>::visit_sums(Shard& shard, bool outputs, const Visit& visit) {
  if (outputs) return shard.output->visit_sums(visit);
  if (shard.metric) shard.metric->visit_sums(visit);
  visit(std::span(starts_));
}

template <class T>
void MetricShards<T>::add_shard(Shard& shard, bool outputs, ShardSum<double>& sum) {
  const std::span<double> all = sum.next();
  if (shard.batch == nullptr) {
    std::ranges::fill(all, 0.0);
  } else {
    auto to = all.begin();
    visit_sums(shard, outputs, [&](auto sums) { to = std::ranges::copy(sums, to).out; });
  }
  sum.add_next(team_);
}

template <class T>
void MetricShards<T>::add_up(bool outputs, ShardSum<double>& sum) {
  total_.resize(at(sum.size()));
  sum.total(team_, total_);
  auto from = total_.cbegin();
  visit_sums(shards_.front(), outputs, [&](auto sums) {
    std::copy_n(from, sums.size(), sums.begin());
    from += static_cast<std::ptrdiff_t>(sums.size());
  });
}

template class MetricShards<float>;
template class MetricShards<double>;

}  // namespace unfold
