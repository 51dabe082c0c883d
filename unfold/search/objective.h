#pragma once
/// Learning through search: what is paid in training for labels that are judged together, in place of minus the
/// logarithm of their probability. With s the score of a whole sequence of labels (markov/chain.h), y* the true labels,
/// H(y, y*) the number of positions that differ:
///
///   perceptron          max_y s(y) - s(y*)                                                    Collins 2002
///   perceptron:beam=K   the same with y found by a beam of K beginnings; where the true one falls out of the beam, the
///                       beginnings up to there are compared, and the rest is left (early update)  Collins & Roark 2004
///   margin:cost=C       max_y (s(y) + C H(y, y*)) - s(y*)             Taskar et al. 2003; Tsochantaridis et al. 2004
///   risk                sum_y p(y) H(y, y*), exactly; its gradient is the covariance of H with the counts
///   bso:beam=K          sum over t of max(0, 1 - s(y*_1..t) + s(y_1..t)), y the K-th best beginning beside the true
///                       one, at the end the best one; after each violation the beam begins anew with the true one
///                       (beam-search optimisation, Wiseman & Rush 2016)
///
/// All are differentiated by hand where they are: by counts of labels and neighbours, as the loss itself. Labels that
/// are missing are those of the best sequence that agrees with the known ones; they cost nothing.
///
///   network.heads[0].loss = searching_loss<float>(network.heads[0].loss, "margin");

#include <memory>
#include <string>
#include <string_view>

#include "unfold/base/registry.h"
#include "unfold/losses/network.h"

namespace unfold {

struct ObjectiveEntry : Entry {
  std::string main = {};  ///< the option that a bare number sets; empty: none
};
/// "likelihood", which is the loss itself, and those above.
const Registry<ObjectiveEntry>& objectives();
/// The canonical form of a SPEC. Throws UsageError.
std::string canonical_objective(std::string_view spec);

/// The loss that is paid instead. Value and gradient are those of the objective; all questions about labels are
/// answered by the loss itself, which is kept. Throws UsageError for a loss whose labels are not judged together (crf).
template <class T>
std::shared_ptr<const Loss<T>> searching_loss(std::shared_ptr<const Loss<T>> loss, std::string_view objective);

/// The same network, every head of labels with this objective. UsageError where none has labels judged together.
template <class T>
Network<T> searching_network(const Network<T>& network, std::string_view objective);

}  // namespace unfold
