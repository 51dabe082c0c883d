#pragma once
/// What a trainer reads when it learns from examples with fields.

#include "unfold/data/example_batches.h"
#include "unfold/training/trainer.h"

namespace unfold {

/// Batches of training and, where `validation` has examples, of validation. The sets must outlive it. `configuration`
/// is what must be the same when a run is resumed.
template <class T>
TrainingSources<T> example_sources(const ExampleSet& training, const ExampleSet& validation,
                                   const ExampleBatchOptions& options, std::uint64_t seed);

}  // namespace unfold
