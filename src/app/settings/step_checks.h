#pragma once
/// Checks and canonical forms of settings that determine how a step is computed. Invalid combinations are rejected
/// before data is read. Internal to app/settings/.

#include "app/settings/train_settings.h"

namespace unfold {

/// `gradient`: backpropagation through time is stored as no value.
void resolve_gradient(TrainSettings& s);
/// `shards` and `gradient-sums`: 1 and "exact" are stored as no value.
void check_shards(TrainSettings& s);
/// `activations`: "bf16" requires training by backpropagation through time, in float, on the CPU.
void check_activations(TrainSettings& s, const RunSettings& run);
/// Throws UsageError for settings that devices do not support.
void check_device(const TrainSettings& s, const RunSettings& run);

}  // namespace unfold
