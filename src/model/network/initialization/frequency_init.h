#pragma once
/// Initialization from frequencies for `nade:H,rounds=k`: the initial guess of each bit is its frequency in the
/// training data (Raiko et al. 2014).

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Sets the parameters s of such a model, whose sigmoids are the initial guesses; frequencies have add-one smoothing.
/// Does nothing for other models.
template <class T>
void initialize_from_means(NetworkModel<T>& model, const ExampleSet& training);

}  // namespace unfold
