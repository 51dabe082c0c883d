#pragma once
/// The order in which numbers of shards are added: a binary tree over the shards, whatever process has which. A node
/// is a range of shards; the halves of a range of more than one are its children, the first the larger where they
/// differ:
///
///   x0 + ... + x5  =  ((x0 + x1) + x2) + ((x3 + x4) + x5)
///
/// A process that has all shards of a node may add them by itself and send one sum. Where the shards of every process
/// are a node, each sends one; else those of its range that are nodes (`nodes_of`).

#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Where the second child of a node begins. REQUIRES more than one shard.
Index middle_of(Range node);

/// The largest nodes that `part` of the tree over `shards` shards is made of, in order.
std::vector<Range> nodes_of(Index shards, Range part);

/// Whether two nodes, one behind the other, are the children of one.
bool are_siblings(Index shards, Range left, Range right);

/// The sum of one number of each shard.
double sum_in_tree(std::span<const double> of_shards);

}  // namespace unfold
