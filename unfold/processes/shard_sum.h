#pragma once
/// Sums of vectors over shards that several processes have, in the order of the tree (shard_tree.h): the same bits for
/// any number of processes.
///
///   ShardSum<float> sum(shards, size, processes);
///   for (Index s = sum.own().begin; s < sum.own().end; ++s) {
///     compute(s, sum.next());                     // the vector of shard s
///     sum.add_next(team);
///   }
///   sum.total(team, result);                      // the same in all processes
///
/// How. A process adds what it can by itself, so that it keeps a vector for each node that its shards make. Then every
/// process becomes the one that adds a slice of the vector: it gets that slice of all nodes of the others, adds in
/// order, and gives the others its part of the result. Where the shards of each process are a node, a process sends
/// and receives 2 (K - 1) / K vectors, the least there is for a sum that everybody has in the end. Where K is a power
/// of two besides, pairs of processes, of pairs, and so on halve the vector that they add together, and put the result
/// together in the opposite order: as many bytes, in 2 log2 K messages instead of 2 (K - 1), and the same additions.
///
/// In bfloat16 every vector of the tree, those of single shards and each sum, is rounded to bfloat16 when it is
/// complete, whoever has it, and sent in two bytes a number.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/base/views.h"
#include "unfold/numerics/bf16.h"
#include "unfold/processes/processes.h"
#include "unfold/processes/shard_tree.h"

namespace unfold {

/// How the work of a step is divided: into shards, whose number is part of what a run computes, and those among
/// processes, whose number is not. One shard: not at all.
struct Sharding {
  Index shards = 1;
  Processes* processes = nullptr;          ///< nullptr: this one alone
  Precision gradients = Precision::exact;  ///< of the tree of gradients; part of what a run computes, too

  bool divided() const { return shards > 1; }
  Processes& all() const { return processes != nullptr ? *processes : one_process(); }
  /// The shards of this process.
  Range own() const { return of(all().number()); }
  Range of(int process) const { return share_of_process(shards, process, all().count()); }
  /// The sum over all shards of a number, of which this process has those of its own.
  double sum(std::span<const double> own_numbers) const;
};

template <class T>
class ShardSum {
 public:
  ShardSum(const Sharding& sharding, Index size, Precision precision = Precision::exact)
      : sharding_(sharding), size_(size), precision_(precision) {}

  Index size() const { return size_; }
  Range own() const { return sharding_.own(); }
  /// The vector of the next shard of this process, to be filled.
  std::span<T> next();
  /// It is filled: adds it to what came before it, where that completes a node.
  void add_next(Team& team);
  /// The sum over all shards. By all processes, when each has given its shards; the next sum may begin then.
  void total(Team& team, std::span<T> result);

 private:
  struct Node {
    Range shards;
    Buffer<T> numbers;
  };
  /// A node's slice in this process: its own, or what it got of another.
  struct Slice {
    Range shards;
    std::span<T> numbers;
  };
  using Word = std::uint16_t;  ///< a number in bfloat16
  Buffer<T> take_buffer();
  Range slice_of(int process) const;
  void complete(std::span<T> node, Team& team) const;
  std::vector<Slice> gather_slices(Team& team);
  template <class Sent>
  void exchange_slices(std::span<const std::span<Sent>> nodes, std::vector<Buffer<Sent>>& received);
  std::span<T> add_below(std::span<const Slice> slices, Range node, Team& team) const;
  template <class Sent>
  void spread(std::span<Sent> result);
  void spread_words(std::span<T> result, Team& team);
  void total_by_slices(Team& team, std::span<T> result);
  bool may_halve() const;
  void total_by_halves(Team& team, std::span<T> result);
  void trade(int partner, std::span<const T> give, std::span<T> take, Team& team);

  Sharding sharding_;
  Index size_;
  Precision precision_;
  std::vector<Node> nodes_;  // of this process, in order
  Buffer<T> next_;
  std::vector<Buffer<T>> spare_, received_;
  Buffer<T> half_;                                    // what a partner gave
  std::vector<Buffer<Word>> words_, received_words_;  // of nodes in bfloat16, and of what was received
};

/// x += y, divided over a team.
template <class T>
void add_vector(Team& team, std::span<T> x, std::span<const T> y);

}  // namespace unfold
