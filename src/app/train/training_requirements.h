#pragma once
/// Checks that a network supports the optimizer and gradient method, before a run begins.

#include "app/settings/train_settings.h"
#include "loss/network.h"
#include "model/network/spec.h"

namespace unfold {

/// Throws UsageError for units without a metric for the optimizer (path_units.h), and for a gradient that needs a
/// backward pass or more memory or time than is allowed.
template <class T>
void check_training_support(const Network<T>& network, const ModelSpec& spec, const TrainSettings& settings,
                            const RunSettings& run);

/// For models that are fitted in one pass. Throws UsageError for settings of gradient training (detected by their
/// value, because the configuration of a run has all options), for runs that cannot be resumed, and for examples
/// without end.
void check_one_pass_settings(const TrainSettings& settings, bool resume);

}  // namespace unfold
