#pragma once
/// Order of summation over shards: a binary tree that does not depend on the distribution of shards over processes. A
/// node is a range of shards. The halves of a range with more than one shard are its children; if they differ in size,
/// the first half is larger:
///
///   x0 + ... + x5  =  ((x0 + x1) + x2) + ((x3 + x4) + x5)
///
/// A process that has all shards of a node may add them and send one sum. If the shards of every process form one node,
/// each process sends one sum; otherwise it sends the sums of all nodes in its range (`nodes_of`).

#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Returns where the second child of a node begins. REQUIRES: more than one shard.
Index middle_of(Range node);

/// Returns the largest nodes that make up `part` in the tree over `shards` shards, in order.
std::vector<Range> nodes_of(Index shards, Range part);

/// Returns whether two adjacent nodes are the children of the same node.
bool are_siblings(Index shards, Range left, Range right);

/// Returns the sum of one number per shard.
double sum_in_tree(std::span<const double> of_shards);

}  // namespace unfold
