#pragma once
/// Latent trees built by a network (loss/tree_merges.h). For prediction, the network merges the most probable
/// neighbors. For training, it samples trees; trees with smaller losses than other trees of the same sentence become
/// more probable.
///
///   LatentTreeParser<float> finder(network, team);
///   finder.set_parameters(parameters);
///   finder.find_best(batch);                    // replaces the trees of the batch
///
/// The gradient is the gradient of the expected loss over all trees, E[L(tree)]. With K trees sampled for a sentence,
/// it is estimated by the mean of
///
///   dL(tree_k) + (L(tree_k) - mean of the others' L) d log p(tree_k)
///
/// (REINFORCE, Williams 1992; with the mean of the other samples as baseline, Kool, van Hoof & Welling 2019). Every
/// sampled tree is an ordinary tree, so the usual passes compute both terms.

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "unfold/loss/tree_merges.h"
#include "unfold/optim/rtrl/open_circuit.h"
#include "unfold/train/objective/sequence_objective.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {

template <class T>
class LatentTreeParser {
 public:
  /// Keeps references to the network and the team. REQUIRES network.merges.
  LatentTreeParser(const Network<T>& network, Team& team);

  void set_parameters(const Parameters<T>& parameters);
  /// Selects the pair of neighbors to merge from the log p of all pairs; `tree` is the index in the result of `find`.
  using Choice = std::function<Index(Index tree, std::span<const T> log_p)>;
  /// Returns `copies` trees for each sentence of the batch; the trees of copy c start at index c times the number of
  /// sentences. The trees of a sentence do not depend on the other sentences or on its current tree. Dropout is not
  /// applied.
  std::vector<Tree> find(const Batch& batch, Index copies, const Choice& choose);
  /// Merges the most probable pair in each step; ties go to the first pair.
  void find_best(Batch& batch);

 private:
  struct Growing;
  void read_words(const Batch& batch);
  void give_children(const std::vector<Growing*>& growing, const std::vector<Index>& pairs);
  void keep_rows(Index rows);
  const T* kept(Index row) const { return kept_.data() + row * width_; }
  const T* merges(Index row) const { return kept(row) + width_ - merge_width_; }

  std::unique_ptr<OpenCircuit> open_;
  Network<T> step_;  // the network of one node
  Unfolding<T> unfolding_;
  Parameters<T> parameters_;
  Index width_ = 0, merge_width_ = 0;
  std::vector<T> kept_;  // rows of `width_`: values that nodes pass to their parents, then the merge signal
  Index rows_ = 0;
};

/// Returns the batch with other trees that have the same numbers of nodes; if there are several trees per example, all
/// examples are repeated.
Batch with_trees(const Batch& batch, std::span<const Tree> trees);

/// Returns the parents of the nodes (Examples::parents) in the most probable trees, for all examples of a reader in
/// order.
template <class T>
std::vector<Index> found_parents(const Network<T>& network, const Parameters<T>& parameters, BatchReader& reader,
                                 Team& team);

/// Samples trees for training; for evaluation, the objective is the loss on the most probable trees. Keeps references
/// to network and team. The trained network must also have a head with merge_loss for kMergeField.
template <class T>
std::unique_ptr<BatchChooser<T>> tree_chooser(const Network<T>& network, std::uint64_t seed, Team& team);

}  // namespace unfold
