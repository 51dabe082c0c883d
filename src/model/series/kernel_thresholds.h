#pragma once
/// Prepares models of random kernels (graph/cells/kernels.h) for training data: the typical length of its series, and
/// the thresholds of the kernels.

#include <cstdint>

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns whether the model consists of random kernels.
bool has_random_kernels(const ModelSpec& spec);
/// Sets the typical length to the median length of the examples unless the SPEC contains it. REQUIRES
/// has_random_kernels and at least one example.
ModelSpec with_typical_length(ModelSpec spec, const ExampleSet& training);

/// Sets the thresholds to quantiles of the outputs of the kernels on training examples: the result is a function of the
/// seed and the examples. At most 512 random examples are read. REQUIRES has_random_kernels and at least one example.
template <class T>
void select_kernel_thresholds(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed);

}  // namespace unfold
