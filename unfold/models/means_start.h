#pragma once
/// A start from means for `nade:H,rounds=k`: what it guesses of bits before it knows any is how often they are 1 in the
/// training data (Raiko et al. 2014).

#include "unfold/data/example_set.h"
#include "unfold/models/network_model.h"

namespace unfold {

/// Replaces the parameters s of such a model, whose sigmoids are the first guesses; add-one smoothed. Nothing for other
/// models.
template <class T>
void start_from_means(NetworkModel<T>& model, const ExampleSet& training);

}  // namespace unfold
