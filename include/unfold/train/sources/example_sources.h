#pragma once
/// Training sources for examples with fields.

#include "unfold/data/examples/example_batches.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// Returns sources of batches for training and, if `validation` has examples, for validation. Both sets of examples
/// must outlive the result. `configuration` lists the settings that must not change when a run is resumed.
template <class T>
TrainingSources<T> example_sources(const ExampleSet& training, const ExampleSet& validation,
                                   const ExampleBatchOptions& options, std::uint64_t seed);

}  // namespace unfold
