#pragma once
/// Sums of vectors over shards that several processes have, in the order of the tree (shard_tree.h): the same bits for
/// any number of processes.
///
///   ShardSum<float> sum(sharding, size);
///   for (Index s = sum.own().begin; s < sum.own().end; ++s) {
///     compute(s, sum.next());                     // the vector of shard s
///     sum.add_next(team);
///   }
///   sum.total(team, result);                      // the same in all processes
///
/// How. A process adds what it can by itself, so that it keeps a vector for each node that its shards make. Then every
/// process becomes the one that adds its slices of the vector (slices.h): it gets those slices of all nodes of the
/// others, adds in order, and gives the others its part of the result. Where the shards of each process are a node, a
/// process sends and receives 2 (K - 1) / K vectors, the least there is for a sum that everybody has in the end. Where
/// K is a power of two besides, pairs of processes, of pairs, and so on halve the vector that they add together, and
/// put the result together in the opposite order: as many bytes, in 2 log2 K messages instead of 2 (K - 1), and the
/// same additions.
///
/// Parts of the vector of the last shard may be complete before the others: they are added and exchanged in the
/// background (`send_part`). The additions are the same.
///
/// In bfloat16 every vector of the tree, those of single shards and each sum, is rounded to bfloat16 when it is
/// complete, whoever has it, and sent in two bytes a number.

#include <cstdint>
#include <span>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/base/views.h"
#include "unfold/processes/background.h"
#include "unfold/processes/sharding.h"
#include "unfold/processes/slices.h"

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
  /// The vector of the next shard of this process, to be filled.
  std::span<T> next();
  /// Whether that is the last one.
  bool at_last() const { return own().begin + added_ + 1 == own().end; }
  /// It is filled: adds it to what came before it, where that completes a node.
  void add_next(Team& team);
  /// Between `next` and `add_next` of the last shard, of any thread: the next of the parts, in the order of the slices,
  /// is filled. It is added and exchanged from now on.
  void send_part();

  /// The sum over all shards. By all processes, when each has given its shards; the next sum may begin then.
  void total(Team& team, std::span<T> result);
  /// The same of the slices of this process alone, one behind the other.
  void own_total(Team& team, std::span<T> result);
  /// Everybody's slices of a vector to everybody. By all processes.
  void spread(std::span<T> vector);

 private:
  struct Node {
    Range shards;
    Buffer<T> numbers;
  };
  /// A node's numbers in some range: its own, or what came from another process.
  struct Piece {
    Range shards;
    std::span<T> numbers;
  };
  using Word = std::uint16_t;  ///< a number in bfloat16
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
  std::vector<Node> nodes_;  // of this process, in order
  Index added_ = 0;          // shards
  std::size_t sent_ = 0;     // parts that are exchanged, or given to the background
  std::vector<Buffer<T>> spare_, received_;
  Buffer<T> half_;                                    // what a partner gave
  std::vector<Buffer<Word>> words_, received_words_;  // of nodes in bfloat16, and of what was received
  Background background_;                             // the last member: it uses the others
};

/// x += y, divided over a team.
template <class T>
void add_vector(Team& team, std::span<T> x, std::span<const T> y);

}  // namespace unfold
