#include "train/passes/sharded_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "optim/direction/conjugate_gradient.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {

std::uint64_t seed_of_shard(std::uint64_t seed, Index shard) {
  static const std::uint64_t stream = stream_of("shard");
  const auto words = philox(seed, stream, static_cast<std::uint64_t>(shard));
  return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
}

template <class T>
ShardedPass<T>::ShardedPass(const Network<T>& network, Team& team, std::size_t memory_limit,
                            const PenaltyOptions& penalties, const Sharding& sharding)
    : team_(team),
      sharding_(sharding),
      pass_(network, team, memory_limit, penalties),
      shards_(network),
      plan_(network.plan) {
  if (sharding.divided() && penalties.any())
    throw UsageError(
        "penalties cannot be combined with --shards, because they are means over a whole batch; leave one of them out");
}

/// Positions of part 0 are identified by the slots of their chains, independently of the shard. This does not hold for
/// deeper parts.
template <class T>
void ShardedPass<T>::seed_dropout(const Batch& batch, Index shard) {
  if (!dropout_seed_) return;
  pass_.set_dropout_seed(batch.structure.parts() > 1 ? seed_of_shard(*dropout_seed_, shard) : *dropout_seed_);
}

template <class T>
template <class Pass>
std::vector<double> ShardedPass<T>::over_shards(const Batch& batch, const Pass& pass) {
  shards_.divide(batch, sharding_.shards);
  const Range own = sharding_.own();
  std::vector<double> nats;
  nats.reserve(at(own.size()));
  for (Index s = own.begin; s < own.end; ++s) {
    seed_dropout(batch, s);
    nats.push_back(pass(shards_.take(s, room_)));
  }
  return nats;
}

template <class T>
double ShardedPass<T>::forward(const Batch& batch, State<T>& state) {
  if (!sharding_.divided()) {
    if (dropout_seed_) pass_.set_dropout_seed(*dropout_seed_);
    return pass_.forward(batch, state);
  }
  return sharding_.sum(
      over_shards(batch, [&](const Batch* shard) { return shard == nullptr ? 0 : pass_.forward(*shard, state); }));
}

template <class T>
double ShardedPass<T>::gradient(const Batch& batch, State<T>& state, double scale, std::span<T> gradient,
                                bool accumulate) {
  if (!sharding_.divided()) {
    if (dropout_seed_) pass_.set_dropout_seed(*dropout_seed_);
    return pass_.gradient(batch, state, scale, gradient, accumulate);
  }
  const std::vector<double> nats = add_gradients(batch, state, scale);
  if (!accumulate) {
    sum().total(team_, gradient);
  } else {
    if (scratch_.size() != sum().size()) scratch_.resize(sum().size());
    sum().total(team_, scratch_.span());
    add_vector<T>(team_, gradient, scratch_.span());
  }
  return sharding_.sum(nats);
}

/// Slices consist of whole chunks, so their sums of squares equal the sums of a single process.
template <class T>
SliceGradient ShardedPass<T>::gradient_of_slices(const Batch& batch, State<T>& state, double scale, std::span<T> own) {
  std::vector<double> numbers = add_gradients(batch, state, scale);
  sum().reduce_scatter(team_, own);
  const Index most_shards = sharding_.most_shards();
  numbers.resize(at(most_shards));
  std::ranges::copy(dots_of_chunks<T>(team_, own, own), std::back_inserter(numbers));
  const int count = sharding_.all().count();
  const auto chunks_of = [](Range r) { return (r.size() + kSumChunk - 1) / kSumChunk; };
  Index most_chunks = 0;
  for (int p = 0; p < count; ++p) most_chunks = std::max(most_chunks, chunks_of({0, slices().size_of(p)}));
  const Timeline::Clock::time_point begin = Timeline::Clock::now();
  const std::vector<std::vector<double>> gathered = sharding_.gather(numbers, most_shards + most_chunks);
  if (sharding_.timeline != nullptr)
    sharding_.timeline->note("gathering losses and norms", Timeline::Lane::alone, begin);
  std::vector<double> squares(at(chunks_of({0, slices().size()})));
  for (int p = 0; p < count; ++p) {
    auto from = gathered[static_cast<std::size_t>(p)].begin() + most_shards;
    for (const Range r : slices().of(p)) {
      std::copy_n(from, chunks_of(r), squares.begin() + r.begin / kSumChunk);
      from += chunks_of(r);
    }
  }
  double sum_of_squares = 0;
  for (const double s : squares) sum_of_squares += s;
  return {.loss = sharding_.sum_of(gathered), .norm = std::sqrt(sum_of_squares)};
}

template <class T>
const Slices& ShardedPass<T>::slices() {
  return sum().slices();
}

template <class T>
ShardSum<T>& ShardedPass<T>::sum() {
  if (sum_) return *sum_;
  constexpr Index kWorthMessages = Index{1} << 17;
  const Index least = std::max<Index>(kWorthMessages, 8 * kSumChunk * sharding_.all().count());
  parts_ = gradient_parts(*plan_, kSumChunk, least);
  segment_names_ = parameters_of_segments(*plan_);
  std::vector<Range> ranges;
  for (const GradientPart& part : parts_) ranges.push_back(part.range);
  sum_ = std::make_unique<ShardSum<T>>(
      sharding_, Slices(sharding_, plan_->parameter_count(), kSumChunk, std::move(ranges)), sharding_.gradients);
  return *sum_;
}

template <class T>
std::vector<double> ShardedPass<T>::add_gradients(const Batch& batch, State<T>& state, double scale) {
  ShardSum<T>& sum = this->sum();
  std::size_t sent = 0;
  bool last = false;
  Timeline::Clock::time_point begin = Timeline::Clock::now();
  const SegmentDone done = [&](int segment) {
    if (last)
      for (; sent < parts_.size() && parts_[sent].segment >= segment; ++sent) sum.send_part();
    if (sharding_.timeline == nullptr) return;
    const auto place = static_cast<std::size_t>(segment);
    const bool begins = place == segment_names_.size();
    sharding_.timeline->note(begins ? "forward"
                             : segment_names_[place].empty()
                                 ? "backward"
                                 : "backward, then the gradient of " + segment_names_[place],
                             Timeline::Lane::computing, std::exchange(begin, Timeline::Clock::now()));
  };
  const bool tells = !sharding_.all().alone() && (parts_.size() > 1 || sharding_.timeline != nullptr);
  return over_shards(batch, [&](const Batch* shard) {
    const std::span<T> own = sum.next();
    last = sum.is_last();
    double found = 0;
    if (shard == nullptr)
      std::ranges::fill(own, T{0});
    else
      found = pass_.gradient(*shard, state, scale, own, false, tells ? &done : nullptr);
    sum.add_next(team_);
    return found;
  });
}

template <class T>
std::string ShardedPass<T>::find_non_finite(const Batch& batch, const State<T>& state) {
  if (!sharding_.divided()) return pass_.find_non_finite(batch, state);
  shards_.divide(batch, sharding_.shards);
  const Range own = sharding_.own();
  std::string found;
  for (Index s = own.begin; s < own.end && found.empty(); ++s) {
    seed_dropout(batch, s);
    const Batch* shard = shards_.take(s, room_);
    if (shard != nullptr) found = pass_.find_non_finite(*shard, state);
    if (!found.empty()) found += fmt::format(", counted in shard {} of {}", s + 1, sharding_.shards);
  }
  for (std::string& of_process : sharding_.all().gather(found))
    if (!of_process.empty()) return std::move(of_process);
  return {};
}

template <class T>
ShardedCurvature<T>::ShardedCurvature(const Network<T>& network, Distance distance, Team& team,
                                      const Sharding& sharding)
    : team_(team), sharding_(sharding), batch_shards_(network) {
  const Index own = sharding.divided() ? sharding.own().size() : 1;
  for (Index i = 0; i < own; ++i)
    shards_.push_back({.curvature = std::make_unique<Curvature<T>>(network, distance, team)});
}

template <class T>
void ShardedCurvature<T>::start(const Parameters<T>& parameters, std::span<const CurvaturePart<T>> parts) {
  if (!sharding_.divided()) return shards_.front().curvature->start(parameters, parts);
  double predicted = 0;
  for (const CurvaturePart<T>& part : parts) predicted += static_cast<double>(part.batch->predicted);
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = shards_[i];
    const Index number = sharding_.own().begin + static_cast<Index>(i);
    std::vector<CurvaturePart<T>> own;
    shard.batches.clear();
    for (const CurvaturePart<T>& part : parts) {
      batch_shards_.divide(*part.batch, sharding_.shards);
      auto room = std::make_unique<Batch>();
      if (batch_shards_.take(number, *room) == nullptr) continue;
      own.push_back({.batch = room.get(), .state = part.state, .dropout_seed = part.dropout_seed});
      if (part.dropout_seed && part.batch->structure.parts() > 1)
        own.back().dropout_seed = seed_of_shard(*part.dropout_seed, number);
      shard.batches.push_back(std::move(room));
    }
    shard.empty = own.empty();
    if (!shard.empty) shard.curvature->start(parameters, own, predicted);
  }
}

template <class T>
template <class Work>
void ShardedCurvature<T>::over_shards(std::span<T> result, const Work& work) {
  if (!sum_) sum_ = std::make_unique<ShardSum<T>>(sharding_, static_cast<Index>(result.size()));
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const std::span<T> own = sum_->next();
    if (shards_[i].empty)
      std::ranges::fill(own, T{0});
    else
      work(*shards_[i].curvature, sharding_.own().begin + static_cast<Index>(i), own);
    sum_->add_next(team_);
  }
  sum_->total(team_, result);
}

template <class T>
void ShardedCurvature<T>::product(std::span<const T> v, double structural, std::span<T> result) {
  if (!sharding_.divided()) return shards_.front().curvature->product(v, structural, result);
  over_shards(result, [&](Curvature<T>& curvature, Index, std::span<T> own) { curvature.product(v, structural, own); });
}

template <class T>
void ShardedCurvature<T>::sample(std::uint64_t seed, double structural, std::span<T> result) {
  if (!sharding_.divided()) return shards_.front().curvature->sample(seed, structural, result);
  over_shards(result, [&](Curvature<T>& curvature, Index shard, std::span<T> own) {
    curvature.sample(seed_of_shard(seed, shard), structural, own);
  });
}

template class ShardedPass<float>;
template class ShardedPass<double>;
template class ShardedCurvature<float>;
template class ShardedCurvature<double>;

}  // namespace unfold
