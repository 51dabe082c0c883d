#include "unfold/processes/shard_sum.h"

#include <algorithm>
#include <bit>

namespace unfold {
namespace {

constexpr Index kSliceGrain = 64;  // numbers: slices begin at lines of the cache

std::size_t place(Index i) { return static_cast<std::size_t>(i); }

template <class T>
std::uint16_t narrowed(T number) {
  return static_cast<std::uint16_t>(to_bf16(static_cast<float>(number)));
}
template <class T>
T widened(std::uint16_t number) {
  return from_bf16(number);
}

/// work(i) for every i below n, divided over a team.
template <class Work>
void in_shares(Team& team, std::size_t n, const Work& work) {
  team.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(n), kSliceGrain);
    for (Index i = mine.begin; i < mine.end; ++i) work(place(i));
  });
}

}  // namespace

double Sharding::sum(std::span<const double> own_numbers) const {
  if (all().alone()) return sum_in_tree(own_numbers);
  const int count = all().count();
  Index most = 0;
  for (int p = 0; p < count; ++p) most = std::max(most, of(p).size());
  std::vector<double> mine(place(most)), padded(place(most * count)), of_shards;
  std::ranges::copy(own_numbers, mine.begin());
  all().gather_bytes(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(padded)));
  of_shards.reserve(place(shards));
  for (int p = 0; p < count; ++p)
    for (Index s = 0; s < of(p).size(); ++s) of_shards.push_back(padded[place(p * most + s)]);
  return sum_in_tree(of_shards);
}

template <class T>
void add_vector(Team& team, std::span<T> x, std::span<const T> y) {
  in_shares(team, x.size(), [&](std::size_t i) { x[i] += y[i]; });
}

template <class T>
Buffer<T> ShardSum<T>::take_buffer() {
  if (spare_.empty()) return Buffer<T>(size_);
  Buffer<T> result = std::move(spare_.back());
  spare_.pop_back();
  return result;
}

template <class T>
std::span<T> ShardSum<T>::next() {
  if (next_.empty()) next_ = take_buffer();
  return next_.span();
}

/// A vector of the tree has all its shards.
template <class T>
void ShardSum<T>::complete(std::span<T> node, Team& team) const {
  if (precision_ == Precision::bf16)
    in_shares(team, node.size(), [&](std::size_t i) { node[i] = widened<T>(narrowed(node[i])); });
}

template <class T>
void ShardSum<T>::add_next(Team& team) {
  const Index shard = nodes_.empty() ? own().begin : nodes_.back().shards.end;
  nodes_.push_back({{shard, shard + 1}, std::move(next_)});
  next_ = Buffer<T>();
  complete(nodes_.back().numbers.span(), team);
  while (nodes_.size() > 1) {
    Node &left = nodes_[nodes_.size() - 2], &right = nodes_.back();
    if (!are_siblings(sharding_.shards, left.shards, right.shards)) return;
    add_vector<T>(team, left.numbers.span(), right.numbers.span());
    complete(left.numbers.span(), team);
    left.shards.end = right.shards.end;
    spare_.push_back(std::move(right.numbers));
    nodes_.pop_back();
  }
}

template <class T>
Range ShardSum<T>::slice_of(int process) const {
  return share_of_process(size_, process, sharding_.all().count(), kSliceGrain);
}

/// Slices of the nodes of this process go to those who add them; `received` becomes the slice that this process adds,
/// of the nodes of all others, in order.
template <class T>
template <class Sent>
void ShardSum<T>::exchange_slices(std::span<const std::span<Sent>> nodes, std::vector<Buffer<Sent>>& received) {
  Processes& all = sharding_.all();
  const Range mine = slice_of(all.number());
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  std::size_t awaited = 0;
  for (int p = 0; p < all.count(); ++p) {
    if (p == all.number()) continue;
    const Range theirs = slice_of(p);
    for (const std::span<Sent> node : nodes)
      if (!theirs.empty())
        sendings.push_back({p, std::as_bytes(node.subspan(place(theirs.begin), place(theirs.size())))});
    for (std::size_t n = nodes_of(sharding_.shards, sharding_.of(p)).size(); n > 0; --n) {
      if (awaited == received.size()) received.emplace_back(mine.size());
      const std::span<Sent> slice = received[awaited++].span();
      if (!slice.empty()) receivings.push_back({p, std::as_writable_bytes(slice)});
    }
  }
  all.exchange(sendings, receivings);
}

/// The slice that this process adds, of every node, in order.
template <class T>
std::vector<typename ShardSum<T>::Slice> ShardSum<T>::gather_slices(Team& team) {
  Processes& all = sharding_.all();
  const Range mine = slice_of(all.number());
  if (precision_ == Precision::bf16 && !all.alone()) {
    std::vector<std::span<Word>> nodes;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (n == words_.size()) words_.emplace_back(size_);
      const std::span<Word> words = words_[n].span();
      const std::span<const T> numbers = nodes_[n].numbers.span();
      in_shares(team, words.size(), [&](std::size_t i) { words[i] = narrowed(numbers[i]); });
      nodes.push_back(words);
    }
    exchange_slices<Word>(nodes, received_words_);
    while (received_.size() < received_words_.size()) received_.emplace_back(mine.size());
    for (std::size_t n = 0; n < received_words_.size(); ++n) {
      const std::span<const Word> words = received_words_[n].span();
      const std::span<T> numbers = received_[n].span();
      in_shares(team, words.size(), [&](std::size_t i) { numbers[i] = widened<T>(words[i]); });
    }
  } else {
    std::vector<std::span<T>> nodes;
    nodes.reserve(nodes_.size());
    for (Node& node : nodes_) nodes.push_back(node.numbers.span());
    exchange_slices<T>(nodes, received_);
  }
  std::vector<Slice> slices;
  std::size_t received = 0;
  for (int p = 0; p < all.count(); ++p) {
    if (p == all.number())
      for (Node& node : nodes_)
        slices.push_back({node.shards, node.numbers.span().subspan(place(mine.begin), place(mine.size()))});
    else
      for (const Range shards : nodes_of(sharding_.shards, sharding_.of(p)))
        slices.push_back({shards, received_[received++].span()});
  }
  return slices;
}

/// The sum of a node, in the memory of its first slice.
template <class T>
std::span<T> ShardSum<T>::add_below(std::span<const Slice> slices, Range node, Team& team) const {
  const auto whole = std::ranges::find_if(
      slices, [&](const Slice& s) { return s.shards.begin == node.begin && s.shards.end == node.end; });
  if (whole != slices.end()) return whole->numbers;
  const Index middle = middle_of(node);
  const std::span<T> left = add_below(slices, {node.begin, middle}, team);
  const std::span<T> right = add_below(slices, {middle, node.end}, team);
  add_vector<T>(team, left, right);
  complete(left, team);
  return left;
}

/// Everybody's slice of the result to everybody.
template <class T>
template <class Sent>
void ShardSum<T>::spread(std::span<Sent> result) {
  Processes& all = sharding_.all();
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  const auto slice = [&](int p) { return result.subspan(place(slice_of(p).begin), place(slice_of(p).size())); };
  for (int p = 0; p < all.count(); ++p) {
    if (p == all.number()) continue;
    if (!slice(all.number()).empty()) sendings.push_back({p, std::as_bytes(slice(all.number()))});
    if (!slice(p).empty()) receivings.push_back({p, std::as_writable_bytes(slice(p))});
  }
  all.exchange(sendings, receivings);
}

template <class T>
void ShardSum<T>::spread_words(std::span<T> result, Team& team) {
  const std::span<Word> words = words_.front().span();
  const Range mine = slice_of(sharding_.all().number());
  for (Index i = mine.begin; i < mine.end; ++i) words[place(i)] = narrowed(result[place(i)]);
  spread(words);
  in_shares(team, words.size(), [&](std::size_t i) { result[i] = widened<T>(words[i]); });
}

/// Whether groups of 1, 2, 4, ... processes are nodes of the tree, up to all of them.
template <class T>
bool ShardSum<T>::may_halve() const {
  const int count = sharding_.all().count();
  if (count == 1 || !std::has_single_bit(static_cast<unsigned>(count))) return false;
  for (int p = 0; p < count; ++p)
    if (nodes_of(sharding_.shards, sharding_.of(p)).size() != 1) return false;
  for (int group = 1; group < count; group *= 2)
    for (int p = 0; p < count; p += 2 * group) {
      const Index begin = sharding_.of(p).begin, middle = sharding_.of(p + group).begin;
      if (!are_siblings(sharding_.shards, {begin, middle}, {middle, sharding_.of(p + 2 * group - 1).end})) return false;
    }
  return true;
}

/// Gives numbers to another process, which does the same.
template <class T>
void ShardSum<T>::trade(int partner, std::span<const T> give, std::span<T> take, Team& team) {
  Sending sending{partner, std::as_bytes(give)};
  Receiving receiving{partner, std::as_writable_bytes(take)};
  if (precision_ == Precision::exact) {
    sharding_.all().exchange(std::span(&sending, give.empty() ? 0 : 1), std::span(&receiving, take.empty() ? 0 : 1));
    return;
  }
  while (words_.size() < 2) words_.emplace_back(size_);
  const std::span<Word> narrow = words_[0].span().first(give.size()), wide = words_[1].span().first(take.size());
  in_shares(team, give.size(), [&](std::size_t i) { narrow[i] = narrowed(give[i]); });
  sending.bytes = std::as_bytes(narrow);
  receiving.bytes = std::as_writable_bytes(wide);
  sharding_.all().exchange(std::span(&sending, give.empty() ? 0 : 1), std::span(&receiving, take.empty() ? 0 : 1));
  in_shares(team, take.size(), [&](std::size_t i) { take[i] = widened<T>(wide[i]); });
}

template <class T>
void ShardSum<T>::total_by_halves(Team& team, std::span<T> result) {
  const int me = sharding_.all().number(), count = sharding_.all().count();
  const std::span<T> mine = nodes_.front().numbers.span();
  const auto part = [](std::span<T> of, Range r) { return of.subspan(place(r.begin), place(r.size())); };
  std::vector<std::pair<Range, Range>> halves;  // kept and given, from the first pair on
  Range all{0, size_};
  for (int group = 1; group < count; group *= 2) {
    const bool lower = (me & group) == 0;
    const Index middle = all.begin + share_of_process(all.size(), 0, 2, kSliceGrain).end;
    halves.emplace_back(Range{all.begin, middle}, Range{middle, all.end});
    if (!lower) std::swap(halves.back().first, halves.back().second);
    const auto [kept, given] = halves.back();
    if (half_.size() < kept.size()) half_.resize(size_);
    const std::span<T> taken = half_.span().first(place(kept.size()));
    trade(me ^ group, part(mine, given), taken, team);
    add_vector<T>(team, part(mine, kept), taken);
    complete(part(mine, kept), team);
    all = kept;
  }
  std::ranges::copy(part(mine, all), result.begin() + all.begin);
  for (int group = count / 2; group > 0; group /= 2, halves.pop_back()) {
    const auto [kept, given] = halves.back();
    trade(me ^ group, part(result, kept), part(result, given), team);
  }
}

template <class T>
void ShardSum<T>::total(Team& team, std::span<T> result) {
  if (may_halve()) {
    total_by_halves(team, result);
  } else {
    total_by_slices(team, result);
  }
  for (Node& node : nodes_) spare_.push_back(std::move(node.numbers));
  nodes_.clear();
}

template <class T>
void ShardSum<T>::total_by_slices(Team& team, std::span<T> result) {
  const std::vector<Slice> slices = gather_slices(team);
  const std::span<const T> sum = add_below(slices, {0, sharding_.shards}, team);
  std::ranges::copy(sum, result.begin() + slice_of(sharding_.all().number()).begin);
  if (precision_ == Precision::bf16 && !sharding_.all().alone())
    spread_words(result, team);
  else
    spread(result);
}

template class ShardSum<float>;
template class ShardSum<double>;
template void add_vector(Team&, std::span<float>, std::span<const float>);
template void add_vector(Team&, std::span<double>, std::span<const double>);

}  // namespace unfold
