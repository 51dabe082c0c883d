#pragma once
/// Checks that a network supports the optimizer and gradient method, before a run begins.

#include "app/settings/train_settings.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/graph/plan/plan.h"
#include "unfold/loss/network.h"
#include "unfold/model/network/spec.h"

namespace unfold {

/// Throws UsageError for units without a metric for the optimizer (path_units.h), and for a gradient that needs a
/// backward pass or more memory or time than is allowed.
template <class T>
void check_training_support(const Network<T>& network, const ModelSpec& spec, const TrainSettings& settings,
                            const RunSettings& run);

/// Estimates the memory of one step before training, from the longest sequences that a batch may have. Throws a
/// UsageError that names the settings that help if it exceeds the available memory. `window`: 0 for whole sequences.
void require_training_memory(const Plan& plan, const ExampleSet& training, const TrainSettings& settings, Index window,
                             std::size_t element_bytes, const RunSettings& run);

/// For models that are fitted in one pass. Throws UsageError for settings of gradient training (detected by their
/// value, because the configuration of a run has all options), for runs that cannot be resumed, and for an unlimited
/// number of examples.
void check_one_pass_settings(const TrainSettings& settings, bool resume);

}  // namespace unfold
