#pragma once
/// Merges: the steps by which a network builds the tree of a sentence. The words are the first nodes. In each step, two
/// neighbors among the nodes without a parent become the children of a new node, until a single node is left. A tree
/// over n words is thus a sequence of n - 1 merges. Nodes are numbered in this order: first the words, then the new
/// nodes.
///
/// Every node has a signal (a, b): a represents the node as the left element of a pair, b as the right element:
///
///   score of neighbors x, y = <a_x, b_y> / sqrt(size of a)      p(pair) = softmax over all pairs of neighbors
///
/// Choi, Yoo & Lee 2018 instead score the node that a pair would become. Scoring the pair itself requires no nodes that
/// are not part of the tree.

#include <memory>
#include <span>
#include <vector>

#include "unfold/loss/loss.h"

namespace unfold {

/// The field of batches that the merge loss reads: one number per node, the weight of its merge.
inline constexpr const char* kMergeField = "merges";

/// The open nodes of one sentence, which have no parent yet, and the scores of neighboring pairs.
template <class T>
class MergeScores {
 public:
  /// Signals have 2 * `half` components.
  explicit MergeScores(Index half) : half_(half) {}

  /// Starts with the signals of the words, from left to right. The signals must stay alive while their nodes are open.
  void start(std::span<const T* const> words);
  /// Returns the open nodes. Pair k consists of open nodes k and k + 1.
  std::span<const Index> open() const { return open_; }
  /// Returns log p of each pair. REQUIRES two open nodes; valid until the next call.
  std::span<const T> log_probabilities();
  /// Merges pair k into the next node, which has the given signal.
  void merge(Index k, const T* signal);
  const T* left(Index k) const { return signals_[static_cast<std::size_t>(k)]; }
  const T* right(Index k) const { return signals_[static_cast<std::size_t>(k + 1)] + half_; }

 private:
  T score(Index k) const;

  Index half_, next_ = 0;
  std::vector<Index> open_;
  std::vector<const T*> signals_;  // signals of the open nodes
  std::vector<T> scores_, log_p_;  // scores and log-probabilities of the pairs
};

/// Weighted -log p of the merges of a tree, in the order of its nodes: each term is multiplied by the field's value at
/// the new node, or omitted if this value is missing. The structure must consist of trees whose nodes are numbered as
/// above. Throws UsageError for other structures and for a signal of odd size.
template <class T>
std::unique_ptr<Loss<T>> merge_loss();

}  // namespace unfold
