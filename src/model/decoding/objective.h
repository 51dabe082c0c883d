#pragma once
/// Training objectives that involve a search; they replace the negative log likelihood of the true output y*. For
/// labels that are predicted jointly, s is the score of a whole chain (loss/crf/chain.h) and C(y, y*) the number of
/// positions that differ; for sequences whose next symbol depends on all previous symbols, s = log p and C is the edit
/// distance.
///
///   perceptron          max_y s(y) - s(y*), for labels                                        Collins 2002
///   perceptron:beam=K   as perceptron, with y found by a beam of K prefixes; if the true prefix falls out of the beam,
///   the
///                       prefixes up to there are compared and the rest is skipped (early update)  Collins & Roark 2004
///   margin:cost=c       max_y (s(y) + c C(y, y*)) - s(y*); for sequences, over those in a beam
///                                                                     Taskar et al. 2003; Tsochantaridis et al. 2004
///   risk                sum_y p(y) C(y, y*), exact for labels; for sequences, over those in a beam or sampled, and the
///                       true one, with p renormalized                                         Shen et al. 2016
///   bso:beam=K          sum over t of max(0, 1 - s(y*_1..t) + s(y_1..t)), where y is the K-th best prefix other than
///                       the true one, and at the end the best one; after each violation the beam restarts from the
///                       true prefix (beam-search optimization, Wiseman & Rush 2016)
///
/// For labels, the gradient consists of counts of labels and neighbors, as for the loss itself (chain_objective.h).
/// Missing labels are taken from the best sequence that agrees with the known labels and contribute no loss. For
/// sequences, the gradient is that of the weighted log probabilities of the sequences found
/// (train/objective/sequence_objective.h).
///
///   network.heads[0].loss = searching_loss<float>(network.heads[0].loss, "margin");

#include <memory>
#include <string>
#include <string_view>

#include "model/decoding/target_search.h"
#include "unfold/base/options/registry.h"
#include "unfold/loss/network.h"

namespace unfold {

struct ObjectiveEntry : Entry {
  std::string main = {};  ///< the option that a bare number sets; empty: none
};
/// Returns "likelihood", which is the loss itself, and the objectives above.
const Registry<ObjectiveEntry>& objectives();
/// Returns the canonical form of a SPEC. Throws UsageError.
std::string canonical_objective(std::string_view spec);
bool is_likelihood(std::string_view spec);

/// Creates the objective for sequences. Throws UsageError for the likelihood, which involves no search.
SequenceObjective sequence_objective(std::string_view spec);

/// Returns a loss with the value and gradient of the objective. All inference about labels uses the original loss,
/// which is kept. Throws UsageError for a loss that does not predict labels jointly (only crf does).
template <class T>
std::shared_ptr<const Loss<T>> searching_loss(std::shared_ptr<const Loss<T>> loss, std::string_view objective);

/// Returns the network with this objective for every head with jointly predicted labels. Throws UsageError if there is
/// no such head.
template <class T>
Network<T> searching_network(const Network<T>& network, std::string_view objective);

}  // namespace unfold
