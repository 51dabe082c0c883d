#include "optim/riemannian/metric_shards.h"

#include <algorithm>
#include <numeric>

namespace unfold {
namespace {

/// Checks the requirement of the backpropagated metric: Jacobians that consist of single entries.
void require_squares(const Plan& plan) {
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i)
    for (const auto& term : plan.nodes()[at(i)].terms())
      if (plan.live(i) && !term.dense() && !term.op->has_squared())
        throw UsageError("rbpm squares the Jacobian entry by entry, but the Jacobian of the " +
                         std::string(term.op->name()) + " map " + plan.parameters()[at(term.parameter)].name +
                         " is not made of entries (docs/riemannian.md); use ruop, sgd or adam");
}

}  // namespace

template <class T>
MetricShards<T>::MetricShards(Objective<T>& objective, const RiemannianOptions& options)
    : options_(options), team_(objective.team()), sharding_(objective.sharding()), divided_(objective.network()) {
  const bool plain = options.metric == RiemannianMetric::none;
  const Index own = sharding_.divided() ? sharding_.own().size() : 1;
  for (Index i = 0; i < own; ++i) {
    Shard shard;
    shard.core = std::make_unique<CorePass<T>>(objective.network(), team_);
    if (options.metric == RiemannianMetric::rbpm) require_squares(shard.core->plan());
    shard.output = std::make_unique<OutputMetric<T>>(*shard.core, options.writing_damping, options.keep > 0,
                                                     options.writing == Reduction::full);
    if (!plain)
      shard.metric = std::make_unique<UnitMetric<T>>(*shard.core, options.reduction, options.damping, options.keep > 0);
    if (options.own > 0) {
      shard.own = std::make_unique<SampledSequences<T>>(objective.network());
      shard.own_core = std::make_unique<CorePass<T>>(objective.network(), team_);
      shard.own_metric = std::make_unique<UnitMetric<T>>(*shard.own_core, options.reduction, options.damping, false);
    }
    // Each head of each shard has a separate random stream.
    shard.stream = static_cast<std::uint64_t>((sharding_.divided() ? sharding_.own().begin + i : 0) *
                                              static_cast<Index>(shard.core->heads().size()));
    shards_.push_back(std::move(shard));
  }
  const std::vector<ParameterInfo>& parameters = objective.parameters().info();
  if (plain) {
    passed_.resize(objective.parameters().flat().size());
    std::iota(passed_.begin(), passed_.end(), Index{0});
    return;
  }
  for (const Node& node : core().plan().nodes()) {
    if (node.trained_initial() < 0) continue;
    const ParameterInfo& p = parameters[at(static_cast<Index>(node.trained_initial()))];
    for (Index i = p.offset; i < p.offset + p.size(); ++i) passed_.push_back(i);
  }
}

template <class T>
void MetricShards<T>::forward(const EnteredBatch<T>& batch, const Parameters<T>& parameters, State<T>& state) {
  whole_ = &batch.batch;
  entering_ = &batch.entering;
  parameters_ = &parameters;
  if (sharding_.divided()) divided_.divide(*whole_, sharding_.shards);
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = shards_[i];
    shard.batch =
        sharding_.divided() ? divided_.take(sharding_.own().begin + static_cast<Index>(i), shard.room) : whole_;
    if (shard.batch == nullptr) continue;
    weigh_rows(shard);
    shard.core->forward(*shard.batch, parameters, state, batch.dropout_seed);
  }
}

/// Averages the squared norm of a step over sequences (remark 8 of the paper): the weight of a row is the mean length
/// divided by the length of its sequence.
template <class T>
void MetricShards<T>::weigh_rows(Shard& shard) const {
  if (options_.sequences == SequenceWeights::length) return;
  const Structure& all = whole_->structure;
  const double mean = static_cast<double>(all.positions()) / static_cast<double>(all.sequences());
  const Structure& own = shard.batch->structure;
  shard.weights.resize(at(own.positions()));
  for (Index s = 0; s < own.sequences(); ++s)
    for (Index p = 0; p < own.size(s); ++p) shard.weights[at(own.row(s, p))] = mean / static_cast<double>(own.size(s));
}

template <class T>
double MetricShards<T>::outputs(const MetricWanted& wanted) {
  std::vector<double> nats;
  nats.reserve(shards_.size());
  for (Shard& shard : shards_) {
    MetricWanted of_shard = wanted;
    of_shard.weights = shard.weights;
    of_shard.stream = shard.stream;
    nats.push_back(shard.batch == nullptr ? 0 : shard.output->pass(*shard.core, *parameters_, *shard.batch, of_shard));
  }
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
  const bool plain = options_.metric == RiemannianMetric::none;
  // The sums of the metric are more accurate than the sums of the pass and replace them.
  u.backward(gradient, {.weights = plain});
  if (plain) return;
  shard.metric->keep_adjoints(*shard.core);
  const Modulus modulus = measure(shard, squares);
  shard.metric->accumulate(*shard.core, modulus);
  if (shard.own) measure_own(shard, squares);
}

/// Zeroes `squares` and returns a buffer for the squares at trained initial values in one pass.
template <class T>
std::span<T> MetricShards<T>::clear_starts(std::span<T> squares) {
  scratch_.resize(2 * squares.size());
  std::ranges::fill(squares, T{0});
  return std::span(scratch_).last(squares.size());
}

template <class T>
void MetricShards<T>::add_starts(std::span<T> squares, std::span<const T> of_pass, double share) const {
  for (const Index i : passed_) squares[at(i)] += static_cast<T>(share) * of_pass[at(i)];
}

/// Computes M on sequences sampled from the model instead of the data. Phi is the square of the gradient of the
/// log-probability of the sample, or the backpropagated modulus of the predictions at its positions.
template <class T>
void MetricShards<T>::measure_own(Shard& shard, std::span<T> squares) {
  const std::span<T> of_pass = clear_starts(squares), gradient = std::span(scratch_).first(squares.size());
  const double share = 1 / static_cast<double>(options_.own);
  const bool backpropagated = options_.metric == RiemannianMetric::rbpm;
  Unfolding<T>& u = shard.own_core->unfolding();
  for (Index k = 0; k < options_.own; ++k) {
    const Batch& batch =
        shard.own->draw(*shard.batch, *parameters_, *entering_, draw_ + static_cast<std::uint64_t>(k), shard.stream);
    State<T> state = *entering_;
    shard.own_core->forward(batch, *parameters_, state, std::nullopt);
    shard.output->pass(*shard.own_core, *parameters_, batch,
                       {.adjoints = true,
                        .variances = backpropagated,
                        .seeds = shard.weights.empty() ? MetricSeeds::gradient : MetricSeeds::weighted,
                        .weights = shard.weights});
    u.backward(gradient, {.weights = false});
    shard.own_metric->keep_adjoints(*shard.own_core);
    if (backpropagated) {
      shard.output->seed_variances(*shard.own_core);
      u.backward(of_pass, {.algebra = Algebra::squared, .weights = false});
    } else {
      u.squares_at_starts(of_pass);
    }
    add_starts(squares, of_pass, share);
    shard.own_metric->accumulate(*shard.own_core, backpropagated ? Modulus::adjoints : Modulus::outer);
    shard.metric->take_matrices(*shard.own_metric, share, k == 0);
  }
}

/// Computes Phi after the backward pass of the gradient, and its sum over the sequences at trained initial values.
template <class T>
Modulus MetricShards<T>::measure(Shard& shard, std::span<T> squares) {
  Unfolding<T>& u = shard.core->unfolding();
  if (options_.metric == RiemannianMetric::rbpm) {
    shard.output->seed_variances(*shard.core);
    u.backward(squares, {.algebra = Algebra::squared, .weights = false});
    return Modulus::adjoints;
  }
  if (shard.own || (options_.draws == 0 && shard.weights.empty())) {
    u.squares_at_starts(squares);
    return Modulus::outer;
  }
  const Index passes = std::max<Index>(1, options_.draws);
  const double share = 1 / static_cast<double>(passes);
  const std::span<T> of_pass = clear_starts(squares), gradient = std::span(scratch_).first(squares.size());
  for (Index k = 0; k < passes; ++k) {
    shard.output->pass(*shard.core, *parameters_, *shard.batch,
                       {.adjoints = true,
                        .seeds = options_.draws > 0 ? MetricSeeds::drawn : MetricSeeds::weighted,
                        .draw = draw_ + static_cast<std::uint64_t>(k),
                        .stream = shard.stream,
                        .weights = shard.weights});
    u.backward(gradient, {.weights = false});
    u.squares_at_starts(of_pass);
    shard.metric->add_squares(*shard.core, share, k == 0);
    add_starts(squares, of_pass, share);
  }
  return Modulus::squares;
}

template <class T>
void MetricShards<T>::backward(std::span<T> gradient, std::span<T> squares, std::uint64_t draw) {
  draw_ = draw;
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
