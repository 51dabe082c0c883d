#pragma once
/// The most probable labels of a network, and the metric that counts wrong labels.

#include <memory>
#include <span>
#include <vector>

#include "unfold/loss/network.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// Sets the most probable label of each row of a batch; kNoSymbol for heads of numbers.
template <class T>
void best_labels(const Head<T>& head, const Batch& batch, Matrix<const T> output, std::span<const T> parameters,
                 Team& team, std::vector<Symbol>& best);

enum class WrongLabels {
  each,      ///< "error_rate": fraction of true labels that differ from the most probable labels
  sequences  ///< "sequence_error": fraction of sequences with a wrong label in any head
};

/// Returns the metric that counts wrong labels. If each label is predicted from the true labels before it, a sequence
/// without a wrong label is exactly the result of greedy search, so no search is needed. Heads of numbers are ignored.
/// Keeps references to network, parameters (with their values when a batch is seen) and team. Throws UsageError for a
/// network without labels, and for labels without an alignment (ctc), which require a search.
template <class T>
std::unique_ptr<Judge<T>> label_judge(const Network<T>& network, const Parameters<T>& parameters, WrongLabels wrong,
                                      Team& team);

}  // namespace unfold
