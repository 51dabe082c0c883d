#pragma once
/// Sums of vectors over shards that are distributed over processes, in the order of the tree (shard_tree.h), so results
/// are bit-identical for any number of processes.
///
///   ShardSum<float> sum(sharding, size);
///   for (Index s = sum.own().begin; s < sum.own().end; ++s) {
///     compute(s, sum.next());                     // the vector of shard s
///     sum.add_next(team);
///   }
///   sum.total(team, result);                      // the same in all processes
///
/// Algorithm: each process first adds its own shards as far as possible and keeps one vector for each resulting node.
/// This is followed by a reduce-scatter and an allgather: each process receives its slices (slices.h) of all nodes of
/// the other processes, adds them in order, and sends its part of the result to the others. If the shards of each
/// process form one node, a process sends and receives 2 (K - 1) / K vectors, the minimum for an allreduce. If K is
/// also a power of two, recursive halving and doubling is used: pairs of processes, pairs of pairs, and so on halve the
/// vector that they add; then they assemble the result in reverse order. This method sends the same number of bytes in
/// 2 log2 K instead of 2 (K - 1) messages, with the same additions.
///
/// Some parts of the vector of the last shard may be complete before the others; they are added and exchanged in the
/// background (`send_part`). The additions are the same.
///
/// In bfloat16 mode, every vector of the tree (the vectors of single shards and all sums) is rounded to bfloat16 when
/// it is complete, in any process, and is sent with two bytes per element.

#include <cstdint>
#include <span>
#include <vector>

#include "distributed/background.h"
#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"
#include "unfold/distributed/sharding.h"
#include "unfold/distributed/slices.h"

namespace unfold {

template <class T>
class ShardSum {
 public:
  ShardSum(const Sharding& sharding, Slices slices, Precision precision = Precision::exact)
      : sharding_(sharding), slices_(std::move(slices)), precision_(precision) {}
  ShardSum(const Sharding& sharding, Index size, Precision precision = Precision::exact)
      : ShardSum(sharding, Slices(sharding, size), precision) {}

  Index size() const { return slices_.size(); }
  Range own() const { return sharding_.own(); }
  const Slices& slices() const { return slices_; }
  /// Returns the vector of the next shard of this process, to be filled by the caller.
  std::span<T> next();
  /// Returns whether the next shard is the last shard of this process.
  bool is_last() const { return own().begin + added_ + 1 == own().end; }
  /// Called when the vector is filled: adds it to the preceding vectors, as far as this completes nodes of the tree.
  void add_next(Team& team);
  /// Called between `next` and `add_next` of the last shard, from any thread, when the next part in the order of the
  /// slices is filled: starts adding and exchanging it.
  void send_part();

  /// Computes the sum over all shards. Collective; called when each process has added its shards. The next sum may
  /// begin afterwards.
  void total(Team& team, std::span<T> result);
  /// Like total, but returns only the slices of this process, concatenated.
  void reduce_scatter(Team& team, std::span<T> result);
  /// Distributes the slices of a vector from their owners to all processes. Collective.
  void spread(std::span<T> vector);

 private:
  struct Node {
    Range shards;
    Buffer<T> numbers;
  };
  /// A range of a node's vector: local, or received from another process.
  struct Piece {
    Range shards;
    std::span<T> numbers;
  };
  using Word = std::uint16_t;  ///< a bfloat16 number
  void complete(std::span<T> node, Team* team) const;
  void finish(Team& team);
  void begin_anew();
  void sum_part(Range part, Team* team);
  void exchange(std::span<const Sending> sendings, std::span<const Receiving> receivings, bool beside);
  std::vector<Piece> merge(Range range, Team* team);
  void sum_by_halves(Range part, std::span<T> mine, Team* team);
  void sum_by_slices(Range part, const std::vector<Piece>& mine, Team* team);
  template <class Sent>
  void exchange_slices(Range part, std::span<const std::span<Sent>> nodes, std::vector<Buffer<Sent>>& received,
                       bool beside);
  std::span<T> add_below(std::span<const Piece> pieces, Range node, Team* team) const;
  template <class Sent>
  void spread_slices(std::span<Sent> vector);
  void spread_rounded(std::span<T> vector, Team& team);

  Sharding sharding_;
  Slices slices_;
  Precision precision_;
  std::vector<Node> nodes_;  // nodes of this process, in order
  Index added_ = 0;          // number of shards
  std::size_t sent_ = 0;     // number of parts exchanged, or passed to the background thread
  std::vector<Buffer<T>> spare_, received_;
  Buffer<T> half_;                                    // received from a partner
  std::vector<Buffer<Word>> words_, received_words_;  // bfloat16 vectors of nodes, and received bfloat16 vectors
  Background background_;                             // the last member, because it uses the others
};

/// x += y, divided among a team.
template <class T>
void add_vector(Team& team, std::span<T> x, std::span<const T> y);

}  // namespace unfold
