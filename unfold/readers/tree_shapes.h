#pragma once
/// Trees over what was read otherwise: by the heads of words (CoNLL-U), or of a fixed shape over the leaves.

#include <string_view>

#include "unfold/data/examples.h"

namespace unfold {

enum class TreeShape {
  given,     ///< as read
  heads,     ///< of words in columns: each is a node, its parent is the word that `head` names; 0 is the root
  balanced,  ///< two children a node, halves: N leaves make ceil(log2 N) levels
  left,      ///< (((a b) c) d)
  right,     ///< (a (b (c d)))
  found      ///< two children a node, as a model will find them: until then those of `left`, with the words first
};
/// Throws UsageError naming all of them.
TreeShape parse_tree_shape(std::string_view name);

/// heads: positions are reordered so that children stand before their parents; `id`, `head` and `deps` are left out.
/// The others: leaves are those of the trees that were read, or the positions of sequences. Their entries stay; nodes
/// above them have none, but the root has what the root had, so that labels of whole trees are kept. Throws DataError
/// with the line: heads that are none, make no tree, or a tree deeper than 1000 levels; UsageError for examples that
/// the shape is not for.
void make_trees(TreeShape shape, Examples& examples);

}  // namespace unfold
