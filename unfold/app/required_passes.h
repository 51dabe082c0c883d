#pragma once
/// What an optimiser and a way to its gradient ask of a network, checked before a run begins.

#include "unfold/losses/network.h"
#include "unfold/models/spec.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// Throws UsageError: units that an optimiser has no metric for (path_units.h); a gradient that cannot be found without
/// looking back, or that takes more memory or time than is allowed.
template <class T>
void require_passes(const Network<T>& network, const ModelSpec& spec, const TrainSettings& settings,
                    const RunSettings& run);

/// Of a model that is fitted as a whole, in one pass. Throws UsageError: what is asked of training by gradient, seen by
/// its value, since the configuration of a run holds all options; what cannot be gone on with; examples without end.
void require_one_pass(const TrainSettings& settings, bool resume);

}  // namespace unfold
