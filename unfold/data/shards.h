#pragma once
/// A batch in shards: parts of its chains, which several processes may compute and whose sums are added in one order
/// (processes/shard_sum.h). Which chain belongs to which shard is a function of the batch and the number of shards.
///
///   BatchShards shards(network);
///   shards.divide(batch, count);
///   if (const Batch* part = shards.take(s, room)) ...    // null: the shard has no chains
///
/// Chains of one lane, whose state goes from batch to batch, stay in one shard. Whole sequences are dealt by falling
/// length.

#include <map>
#include <string>
#include <vector>

#include "unfold/data/batch.h"

namespace unfold {

/// The shard that has what is carried in a slot of the state between batches.
inline Index shard_of_slot(Index slot, Index shards) { return slot % shards; }

/// For each chain of a batch, its shard.
std::vector<Index> shards_of_chains(const Batch& batch, Index shards);

class BatchShards {
 public:
  /// Shards have the fields that the network reads or predicts.
  template <class T>
  explicit BatchShards(const Network<T>& network);

  /// The batch is referred to.
  void divide(const Batch& batch, Index shards);
  /// The chains of a shard as a batch of their own, with the slots that they had: `room`, filled; null where there are
  /// none.
  const Batch* take(Index shard, Batch& room) const;

 private:
  std::map<std::string, int> parts_;  // of the structure, in which a field has its rows
  std::vector<std::string> predicted_;
  const Batch* whole_ = nullptr;
  std::vector<std::vector<Index>> chains_;  // of each shard
};

/// The rows of a field, in this order.
Field rows_of_field(const Field& field, std::span<const Index> rows);

}  // namespace unfold
