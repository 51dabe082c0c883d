#pragma once
/// Trees that a network finds (losses/merges.h). It merges the most probable neighbours; to learn, it draws trees, and
/// those that go with smaller losses than others of the same sentence become more probable.
///
///   TreeFinder<float> finder(network, team);
///   finder.set_parameters(parameters);
///   finder.find_best(batch);                    // the batch with other trees
///
/// The gradient is that of the expected loss over all trees, E[L(tree)]: with K trees drawn for a sentence, the mean of
///
///   dL(tree_k) + (L(tree_k) - mean of the others' L) d log p(tree_k)
///
/// (Williams 1992; a mean of other draws as the baseline: Kool, van Hoof & Welling 2019). Every tree that was drawn is
/// an ordinary tree, so that the usual passes give both terms.

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "unfold/forward/open_circuit.h"
#include "unfold/losses/merges.h"
#include "unfold/optim/batch_pass.h"
#include "unfold/training/chosen_batch.h"

namespace unfold {

template <class T>
class TreeFinder {
 public:
  /// Refers to the network and the team. REQUIRES network.merges.
  TreeFinder(const Network<T>& network, Team& team);

  void set_parameters(const Parameters<T>& parameters);
  /// Which pair of neighbours is merged, by log p of all of them; `tree` is a number of `find`.
  using Choice = std::function<Index(Index tree, std::span<const T> log_p)>;
  /// So many trees for each sentence of the batch: those of copy c are from c times the number of sentences on. What a
  /// sentence gets does not depend on the others, nor on the trees that it had. Without dropout.
  std::vector<Tree> find(const Batch& batch, Index copies, const Choice& choose);
  /// Merges the most probable pair every time, the first of equals.
  void find_best(Batch& batch);

 private:
  struct Growing;
  void read_words(const Batch& batch);
  void give_children(const std::vector<Growing*>& growing, const std::vector<Index>& pairs);
  void keep_rows(Index rows);
  const T* kept(Index row) const { return kept_.data() + row * width_; }
  const T* merges(Index row) const { return kept(row) + width_ - merge_width_; }

  std::unique_ptr<OpenCircuit> open_;
  Network<T> step_;  // one node
  Unfolding<T> unfolding_;
  Parameters<T> parameters_;
  Index width_ = 0, merge_width_ = 0;
  std::vector<T> kept_;  // rows of `width_`: what nodes give their parents, then the signal of merges
  Index rows_ = 0;
};

/// The batch with other trees of as many nodes: all examples as often as there are trees for them.
Batch with_trees(const Batch& batch, std::span<const Tree> trees);

/// Of all examples that a reader gives, one after another: the parents of their nodes (Examples::parents) in the trees
/// that the network finds best.
template <class T>
std::vector<Index> found_parents(const Network<T>& network, const Parameters<T>& parameters, BatchReader& reader,
                                 Team& team);

/// Draws trees for training; what is paid otherwise is the loss on the best trees. Refers to network and team. The
/// network that is trained reads kMergeField by merge_loss, too.
template <class T>
std::unique_ptr<BatchChooser<T>> tree_chooser(const Network<T>& network, std::uint64_t seed, Team& team);

}  // namespace unfold
