#pragma once
/// The best labels of a network, and a judge that counts the wrong ones among them.

#include <memory>
#include <span>
#include <vector>

#include "unfold/losses/network.h"
#include "unfold/training/trainer.h"

namespace unfold {

/// The best label of each row of a batch; kNoSymbol for heads of numbers.
template <class T>
void best_labels(const Head<T>& head, const Batch& batch, Matrix<const T> output, std::span<const T> parameters,
                 Team& team, std::vector<Symbol>& best);

enum class WrongLabels {
  each,      ///< "error_rate": the share of labels that are not the best ones
  sequences  ///< "sequence_error": the share of sequences that have a wrong label, of whatever head
};

/// Counts wrong labels. Where each label is predicted from the true ones before it, a sequence without a wrong label is
/// the very one that greedy search finds, so that sequences cost no search. Heads of numbers are left out. Network,
/// parameters (as they are when a batch is seen) and team are referred to. Throws UsageError for a network without
/// labels, and for labels without places (ctc), which want a search.
template <class T>
std::unique_ptr<Judge<T>> label_judge(const Network<T>& network, const Parameters<T>& parameters, WrongLabels wrong,
                                      Team& team);

}  // namespace unfold
