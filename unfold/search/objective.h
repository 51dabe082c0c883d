#pragma once
/// Learning through search: what is paid in training in place of minus the logarithm of the probability of what is
/// true, y*. Of labels that are judged together, s is the score of a whole chain (markov/chain.h) and C(y, y*) the
/// number of positions that differ; of sequences whose next symbol depends on all before, s = log p and C the number of
/// edits.
///
///   perceptron          max_y s(y) - s(y*), of labels                                         Collins 2002
///   perceptron:beam=K   the same with y found by a beam of K beginnings; where the true one falls out of the beam, the
///                       beginnings up to there are compared, and the rest is left (early update)  Collins & Roark 2004
///   margin:cost=c       max_y (s(y) + c C(y, y*)) - s(y*), of sequences over those that a beam finds
///                                                                     Taskar et al. 2003; Tsochantaridis et al. 2004
///   risk                sum_y p(y) C(y, y*), of labels exactly; of sequences over those that a beam finds, or samples,
///                       and the true one, p renormalised                                      Shen et al. 2016
///   bso:beam=K          sum over t of max(0, 1 - s(y*_1..t) + s(y_1..t)), y the K-th best beginning beside the true
///                       one, at the end the best one; after each violation the beam begins anew with the true one
///                       (beam-search optimisation, Wiseman & Rush 2016)
///
/// Of labels the gradient is one of counts of labels and neighbours, as of the loss itself (chain_objective.h). Labels
/// that are missing are those of the best sequence that agrees with the known ones; they cost nothing. Of sequences it
/// is that of weighted log probabilities of what was found (sequence_chooser.h).
///
///   network.heads[0].loss = searching_loss<float>(network.heads[0].loss, "margin");

#include <memory>
#include <string>
#include <string_view>

#include "unfold/base/registry.h"
#include "unfold/losses/network.h"
#include "unfold/search/target_search.h"

namespace unfold {

struct ObjectiveEntry : Entry {
  std::string main = {};  ///< the option that a bare number sets; empty: none
};
/// "likelihood", which is the loss itself, and those above.
const Registry<ObjectiveEntry>& objectives();
/// The canonical form of a SPEC. Throws UsageError.
std::string canonical_objective(std::string_view spec);
bool is_likelihood(std::string_view spec);

/// What is paid for sequences. Throws UsageError: the likelihood, which searches for nothing.
SequenceObjective sequence_objective(std::string_view spec);

/// The loss that is paid instead. Value and gradient are those of the objective; all questions about labels are
/// answered by the loss itself, which is kept. Throws UsageError for a loss whose labels are not judged together (crf).
template <class T>
std::shared_ptr<const Loss<T>> searching_loss(std::shared_ptr<const Loss<T>> loss, std::string_view objective);

/// The same network, every head of labels with this objective. UsageError where none has labels judged together.
template <class T>
Network<T> searching_network(const Network<T>& network, std::string_view objective);

}  // namespace unfold
