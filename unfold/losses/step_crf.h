#pragma once
/// Internal: the loss crf whose signal also scores steps (step_crf.cpp).

#include <memory>

#include "unfold/losses/loss.h"
#include "unfold/markov/label_scheme.h"

namespace unfold {

/// It has LabelSequences and NamedLabels. Signal of n + n^2 numbers for n labels.
template <class T>
std::unique_ptr<Loss<T>> step_crf_loss(LabelScheme scheme);

/// The labels that such a signal is of. UsageError: of no number of labels.
Index step_crf_labels(Index signal_size);

}  // namespace unfold
