#pragma once
/// Merges: how a network finds the tree of a sentence. Its words are the first nodes; two neighbours among the nodes
/// that have no parent yet become the children of a new one, until one is left. So a tree over n words is n - 1 merges
/// in an order, and its nodes are numbered: words first, then new nodes as they come.
///
/// Every node has a signal (a, b), what it is as the left and as the right of a pair:
///
///   score of neighbours x, y = <a_x, b_y> / sqrt(size of a)      p(pair) = softmax over all pairs of neighbours
///
/// Choi, Yoo & Lee 2018 score what a pair would become instead; a score of the pair as it is costs no node that is not
/// in the tree.

#include <memory>
#include <span>
#include <vector>

#include "unfold/losses/loss.h"

namespace unfold {

/// The field of batches that the loss of merges reads: a number a node, what its merge weighs.
inline constexpr const char* kMergeField = "merges";

/// The nodes of one sentence that have no parent yet, and the scores of neighbours.
template <class T>
class MergeScores {
 public:
  /// Of signals of 2 `half` numbers.
  explicit MergeScores(Index half) : half_(half) {}

  /// From left to right: signals of the words, which must live as long as they are open.
  void start(std::span<const T* const> words);
  /// Nodes that are open; pairs of neighbours are one fewer: the k-th is of open nodes k and k + 1.
  std::span<const Index> open() const { return open_; }
  /// log p of each pair. REQUIRES two open nodes; valid until the next call.
  std::span<const T> log_probabilities();
  /// Pair k becomes the next node.
  void merge(Index k, const T* signal);
  const T* left(Index k) const { return signals_[static_cast<std::size_t>(k)]; }
  const T* right(Index k) const { return signals_[static_cast<std::size_t>(k + 1)] + half_; }

 private:
  T score(Index k) const;

  Index half_, next_ = 0;
  std::vector<Index> open_;
  std::vector<const T*> signals_;  // of the open nodes
  std::vector<T> scores_, log_p_;  // of pairs
};

/// -log p of the merges of a tree, in the order of its nodes, each times what the field says of the new node; nothing
/// where it says nothing. Over structures of trees whose nodes are numbered as above. UsageError for others, and for a
/// signal that has no two halves.
template <class T>
std::unique_ptr<Loss<T>> merge_loss();

}  // namespace unfold
