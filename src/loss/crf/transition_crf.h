#pragma once
/// Internal: the loss crf with transition scores from the signal (transition_crf.cpp).

#include <memory>

#include "loss/crf/label_scheme.h"
#include "unfold/loss/loss.h"

namespace unfold {

/// Provides LabelSequences and NamedLabels. The signal has n + n^2 numbers for n labels.
template <class T>
std::unique_ptr<Loss<T>> step_crf_loss(LabelScheme scheme);

/// Returns the number of labels for a signal size. Throws UsageError if no number of labels fits.
Index step_crf_labels(Index signal_size);

}  // namespace unfold
