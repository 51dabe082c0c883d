#include "distributed/shard_sum.h"

#include <algorithm>
#include <iterator>

#include "distributed/shard_tree.h"

namespace unfold {
namespace {

constexpr Index kLine = 64;  // elements: threads divide vectors at cache line boundaries

std::size_t place(Index i) { return static_cast<std::size_t>(i); }

template <class T>
std::uint16_t narrowed(T number) {
  return static_cast<std::uint16_t>(to_bf16(static_cast<float>(number)));
}

template <class T>
T widened(std::uint16_t number) {
  return from_bf16(number);
}

template <class T>
std::span<T> part_of(std::span<T> vector, Range r) {
  return vector.subspan(place(r.begin), place(r.size()));
}

/// Calls work(i) for every i below n, divided among a team, or in this thread if `team` is null.
template <class Work>
void in_shares(Team* team, std::size_t n, const Work& work) {
  if (team == nullptr) {
    for (std::size_t i = 0; i < n; ++i) work(i);
    return;
  }
  team->run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(n), kLine);
    for (Index i = mine.begin; i < mine.end; ++i) work(place(i));
  });
}

template <class T>
void add_to(Team* team, std::span<T> x, std::span<const T> y) {
  in_shares(team, x.size(), [&](std::size_t i) { x[i] += y[i]; });
}

}  // namespace

template <class T>
void add_vector(Team& team, std::span<T> x, std::span<const T> y) {
  add_to(&team, x, y);
}

template <class T>
std::span<T> ShardSum<T>::next() {
  const Index shard = own().begin + added_;
  if (nodes_.empty() || nodes_.back().shards.begin < shard) {
    nodes_.push_back({.shards = {shard, shard + 1}, .numbers = {}});
    Node& node = nodes_.back();
    if (spare_.empty()) {
      node.numbers.resize(size());
    } else {
      node.numbers = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  return nodes_.back().numbers.span();
}

/// Called when a vector of the tree has all its shards; rounds it in bfloat16 mode.
template <class T>
void ShardSum<T>::complete(std::span<T> node, Team* team) const {
  if (precision_ == Precision::bf16)
    in_shares(team, node.size(), [&](std::size_t i) { node[i] = widened<T>(narrowed(node[i])); });
}

/// The vector of the last shard is added only when its parts are exchanged.
template <class T>
void ShardSum<T>::add_next(Team& team) {
  const bool last = is_last();
  ++added_;
  if (last) return;
  const std::vector<Piece> pieces = merge({0, size()}, &team);
  while (nodes_.size() > pieces.size()) {
    spare_.push_back(std::move(nodes_.back().numbers));
    nodes_.pop_back();
  }
  nodes_.back().shards = pieces.back().shards;
}

/// Merges a range of the last node, which is incomplete, with the preceding nodes that it completes.
template <class T>
std::vector<typename ShardSum<T>::Piece> ShardSum<T>::merge(Range range, Team* team) {
  std::vector<Piece> pieces;
  for (Node& node : nodes_) pieces.push_back({node.shards, part_of(node.numbers.span(), range)});
  complete(pieces.back().numbers, team);
  while (pieces.size() > 1) {
    Piece &left = pieces[pieces.size() - 2], &right = pieces.back();
    if (!are_siblings(sharding_.shards, left.shards, right.shards)) break;
    add_to<T>(team, left.numbers, right.numbers);
    complete(left.numbers, team);
    left.shards.end = right.shards.end;
    pieces.pop_back();
  }
  return pieces;
}

template <class T>
void ShardSum<T>::send_part() {
  if (sharding_.all().alone()) return;
  const Range part = slices_.parts()[sent_++];
  background_.give([this, part] { sum_part(part, nullptr); });
}

/// Adds and exchanges a part; this process then has its slice of the sum, stored in its first node. Without a team,
/// this runs in the background.
template <class T>
void ShardSum<T>::sum_part(Range part, Team* team) {
  const Timeline::Clock::time_point begin = Timeline::Clock::now();
  const std::vector<Piece> mine = merge(part, team);
  if (sharding_.all().alone()) return;
  if (slices_.is_recursive_halving())
    sum_by_halves(part, nodes_.front().numbers.span(), team);
  else
    sum_by_slices(part, mine, team);
  if (sharding_.timeline != nullptr)
    sharding_.timeline->note("sum of " + std::to_string(part.size()),
                             team == nullptr ? Timeline::Lane::beside : Timeline::Lane::alone, begin);
}

template <class T>
void ShardSum<T>::exchange(std::span<const Sending> sendings, std::span<const Receiving> receivings, bool beside) {
  if (beside)
    sharding_.all().exchange_in_background(sendings, receivings, background_.pace());
  else
    sharding_.all().exchange(sendings, receivings);
}

template <class T>
void ShardSum<T>::sum_by_halves(Range part, std::span<T> mine, Team* team) {
  const int me = sharding_.all().number();
  int group = 1;
  for (const auto& [kept, given] : slices_.halves(part, me)) {
    if (half_.size() < kept.size()) half_.resize(kept.size());
    const std::span<T> give = part_of(mine, given), keep = part_of(mine, kept);
    const std::span<T> taken = half_.span().first(keep.size());
    Sending sending{me ^ group, std::as_bytes(give)};
    Receiving receiving{me ^ group, std::as_writable_bytes(taken)};
    if (precision_ == Precision::bf16) {
      while (words_.size() < 2) words_.emplace_back(size());
      const std::span<Word> narrow = words_[0].span().first(give.size()), wide = words_[1].span().first(keep.size());
      in_shares(team, give.size(), [&](std::size_t i) { narrow[i] = narrowed(give[i]); });
      sending.bytes = std::as_bytes(narrow);
      receiving.bytes = std::as_writable_bytes(wide);
    }
    exchange(std::span(&sending, give.empty() ? 0 : 1), std::span(&receiving, keep.empty() ? 0 : 1), team == nullptr);
    if (precision_ == Precision::bf16)
      in_shares(team, keep.size(), [&](std::size_t i) { taken[i] = widened<T>(words_[1][static_cast<Index>(i)]); });
    add_to<T>(team, keep, taken);
    complete(keep, team);
    group *= 2;
  }
}

/// Sends the slices of this process's nodes to the processes that add them. `received` is set to the slices that this
/// process adds, from the nodes of all other processes, in order.
template <class T>
template <class Sent>
void ShardSum<T>::exchange_slices(Range part, std::span<const std::span<Sent>> nodes,
                                  std::vector<Buffer<Sent>>& received, bool beside) {
  Processes& all = sharding_.all();
  const Range mine = slices_.of(part, all.number());
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  std::size_t awaited = 0;
  for (int p = 0; p < all.count(); ++p) {
    if (p == all.number()) continue;
    const Range theirs = slices_.of(part, p);
    for (const std::span<Sent> node : nodes)
      if (!theirs.empty())
        sendings.push_back({p, std::as_bytes(part_of(node, {theirs.begin - part.begin, theirs.end - part.begin}))});
    for (std::size_t n = nodes_of(sharding_.shards, sharding_.of(p)).size(); n > 0; --n) {
      if (awaited == received.size()) received.emplace_back();
      if (received[awaited].size() < mine.size()) received[awaited].resize(mine.size());
      const std::span<Sent> slice = received[awaited++].span().first(place(mine.size()));
      if (!slice.empty()) receivings.push_back({p, std::as_writable_bytes(slice)});
    }
  }
  exchange(sendings, receivings, beside);
}

template <class T>
void ShardSum<T>::sum_by_slices(Range part, const std::vector<Piece>& mine, Team* team) {
  Processes& all = sharding_.all();
  const Range slice = slices_.of(part, all.number());
  const std::size_t size = place(slice.size());
  if (precision_ == Precision::bf16) {
    std::vector<std::span<Word>> nodes;
    for (std::size_t n = 0; n < mine.size(); ++n) {
      if (n == words_.size()) words_.emplace_back(this->size());
      nodes.push_back(words_[n].span().first(place(part.size())));
      in_shares(team, nodes[n].size(), [&](std::size_t i) { nodes[n][i] = narrowed(mine[n].numbers[i]); });
    }
    exchange_slices<Word>(part, nodes, received_words_, team == nullptr);
    while (received_.size() < received_words_.size()) received_.emplace_back();
    for (std::size_t n = 0; n < received_words_.size(); ++n) {
      if (received_[n].size() < slice.size()) received_[n].resize(slice.size());
      const Buffer<Word>& words = received_words_[n];
      in_shares(team, size,
                [&](std::size_t i) { received_[n][static_cast<Index>(i)] = widened<T>(words[static_cast<Index>(i)]); });
    }
  } else {
    std::vector<std::span<T>> nodes;
    nodes.reserve(mine.size());
    for (const Piece& piece : mine) nodes.push_back(piece.numbers);
    exchange_slices<T>(part, nodes, received_, team == nullptr);
  }
  const Range within{slice.begin - part.begin, slice.end - part.begin};
  std::vector<Piece> pieces;
  std::size_t received = 0;
  for (int p = 0; p < all.count(); ++p) {
    if (p == all.number())
      for (const Piece& piece : mine) pieces.push_back({piece.shards, part_of(piece.numbers, within)});
    else
      for (const Range shards : nodes_of(sharding_.shards, sharding_.of(p)))
        pieces.push_back({shards, received_[received++].span().first(size)});
  }
  const std::span<const T> sum = add_below(pieces, {0, sharding_.shards}, team);
  const std::span<T> to = part_of(nodes_.front().numbers.span(), slice);
  if (sum.data() != to.data()) std::ranges::copy(sum, to.begin());
}

/// Returns the sum of a node, stored in its first piece.
template <class T>
std::span<T> ShardSum<T>::add_below(std::span<const Piece> pieces, Range node, Team* team) const {
  const auto whole = std::ranges::find_if(
      pieces, [&](const Piece& s) { return s.shards.begin == node.begin && s.shards.end == node.end; });
  if (whole != pieces.end()) return whole->numbers;
  const Index middle = middle_of(node);
  const std::span<T> left = add_below(pieces, {node.begin, middle}, team);
  const std::span<T> right = add_below(pieces, {middle, node.end}, team);
  add_to<T>(team, left, right);
  complete(left, team);
  return left;
}

/// Distributes the slices in the reverse order of the halving, all parts at once.
template <class T>
template <class Sent>
void ShardSum<T>::spread_slices(std::span<Sent> vector) {
  Processes& all = sharding_.all();
  const int me = all.number(), count = all.count();
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  const auto give = [&](int to, Range r) {
    if (!r.empty()) sendings.push_back({to, std::as_bytes(part_of(vector, r))});
  };
  const auto take = [&](int from, Range r) {
    if (!r.empty()) receivings.push_back({from, std::as_writable_bytes(part_of(vector, r))});
  };
  const auto trade = [&] {
    exchange(sendings, receivings, false);
    sendings.clear(), receivings.clear();
  };
  if (slices_.is_recursive_halving()) {
    std::vector<std::vector<std::pair<Range, Range>>> halves;
    for (const Range part : slices_.parts()) halves.push_back(slices_.halves(part, me));
    for (int group = count / 2; group > 0; group /= 2) {
      for (auto& of_part : halves) {
        give(me ^ group, of_part.back().first), take(me ^ group, of_part.back().second);
        of_part.pop_back();
      }
      trade();
    }
    return;
  }
  for (int p = 0; p < count; ++p)
    for (const Range part : slices_.parts())
      if (p != me) give(p, slices_.of(part, me)), take(p, slices_.of(part, p));
  trade();
}

template <class T>
void ShardSum<T>::spread(std::span<T> vector) {
  if (sharding_.all().alone()) return;
  const Timeline::Clock::time_point begin = Timeline::Clock::now();
  spread_slices(vector);
  if (sharding_.timeline != nullptr)
    sharding_.timeline->note("spreading " + std::to_string(vector.size()), Timeline::Lane::alone, begin);
}

template <class T>
void ShardSum<T>::spread_rounded(std::span<T> vector, Team& team) {
  if (words_.empty()) words_.emplace_back(size());
  const std::span<Word> words = words_.front().span();
  for (const Range r : slices_.own())
    for (Index i = r.begin; i < r.end; ++i) words[place(i)] = narrowed(vector[place(i)]);
  spread_slices(words);
  in_shares(&team, words.size(), [&](std::size_t i) { vector[i] = widened<T>(words[i]); });
}

/// Completes the work that the background thread has not done.
template <class T>
void ShardSum<T>::finish(Team& team) {
  if (sent_ > 0) {
    const Timeline::Clock::time_point begin = Timeline::Clock::now();
    background_.wait();
    if (sharding_.timeline != nullptr) sharding_.timeline->note("waiting for sums", Timeline::Lane::alone, begin);
  }
  for (; sent_ < slices_.parts().size(); ++sent_) sum_part(slices_.parts()[sent_], &team);
}

template <class T>
void ShardSum<T>::begin_anew() {
  for (Node& node : nodes_) spare_.push_back(std::move(node.numbers));
  nodes_.clear();
  added_ = 0;
  sent_ = 0;
}

template <class T>
void ShardSum<T>::total(Team& team, std::span<T> result) {
  finish(team);
  const std::span<const T> sum = nodes_.front().numbers.span();
  for (const Range r : slices_.own()) std::copy(sum.begin() + r.begin, sum.begin() + r.end, result.begin() + r.begin);
  if (precision_ == Precision::bf16 && !sharding_.all().alone())
    spread_rounded(result, team);
  else
    spread(result);
  begin_anew();
}

template <class T>
void ShardSum<T>::reduce_scatter(Team& team, std::span<T> result) {
  finish(team);
  gather_ranges<T>(nodes_.front().numbers.span(), slices_.own(), result);
  begin_anew();
}

template class ShardSum<float>;
template class ShardSum<double>;
template void add_vector(Team&, std::span<float>, std::span<const float>);
template void add_vector(Team&, std::span<double>, std::span<const double>);

}  // namespace unfold
