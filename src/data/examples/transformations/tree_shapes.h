#pragma once
/// Builds trees over examples: from the heads of words (CoNLL-U), or with a fixed shape over the leaves.

#include <string_view>

#include "unfold/data/examples/examples.h"

namespace unfold {

enum class TreeShape {
  given,     ///< as read
  heads,     ///< for words in columns: each word is a node whose parent is the word that `head` names; 0 is the root
  balanced,  ///< two children per node, split in half: N leaves give ceil(log2 N) levels
  left,      ///< (((a b) c) d)
  right,     ///< (a (b (c d)))
  found      ///< two children per node, found by a model; initially the shape of `left`, with the words first
};
/// Throws a UsageError that lists all shapes.
TreeShape parse_tree_shape(std::string_view name);

/// Replaces the trees. heads: positions are reordered so that children precede their parents; `id`, `head` and `deps`
/// are dropped. Other shapes: the leaves are the leaves of the trees that were read, or the positions of sequences,
/// with their entries. Nodes above them have no entries, except that the new root keeps the entries of the old root, so
/// that labels of whole trees are preserved. Throws a DataError that names the line for heads that are invalid or do
/// not form a tree, and for a tree deeper than 1000 levels; UsageError for examples that the shape does not support.
void make_trees(TreeShape shape, Examples& examples);

}  // namespace unfold
