#pragma once
/// Divides a batch into shards: groups of its chains that different processes can compute. The sums of the shards are
/// added in a fixed order (distributed/shard_sum.h). The assignment of chains to shards is a function of the batch and
/// the number of shards.
///
///   BatchShards shards(network);
///   shards.divide(batch, count);
///   if (const Batch* part = shards.take(s, room)) ...    // null: the shard has no chains
///
/// Chains of one lane, whose state is carried from batch to batch, stay in one shard. Whole sequences are distributed
/// by descending length.

#include <map>
#include <string>
#include <vector>

#include "unfold/data/text/batch.h"

namespace unfold {

/// Returns the shard that owns a slot of the carried state.
inline Index shard_of_slot(Index slot, Index shards) { return slot % shards; }

/// Returns the shard of each chain of a batch.
std::vector<Index> shards_of_chains(const Batch& batch, Index shards);

class BatchShards {
 public:
  /// Shards contain the fields that the network reads or predicts.
  template <class T>
  explicit BatchShards(const Network<T>& network);

  /// Keeps a reference to the batch.
  void divide(const Batch& batch, Index shards);
  /// Returns the chains of a shard as a separate batch, with their original slots. `room` provides the storage; null if
  /// the shard is empty.
  const Batch* take(Index shard, Batch& room) const;

 private:
  std::map<std::string, int> parts_;  // part of the structure that contains the rows of a field
  std::vector<std::string> predicted_;
  const Batch* whole_ = nullptr;
  std::vector<std::vector<Index>> chains_;  // chains of each shard
};

/// Selects rows of a field, in the given order.
Field rows_of_field(const Field& field, std::span<const Index> rows);

}  // namespace unfold
