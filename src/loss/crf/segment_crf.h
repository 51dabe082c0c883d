#pragma once
/// Internal: the loss crf over segments (segment_crf.cpp).

#include <memory>

#include "loss/crf/label_scheme.h"
#include "unfold/loss/loss.h"

namespace unfold {

/// Provides LabelSequences and NamedLabels. `longest`: maximum segment length in positions.
template <class T>
std::unique_ptr<Loss<T>> segment_crf_loss(LabelScheme scheme, Index longest);

}  // namespace unfold
