#pragma once
/// Settings that say how a step is computed: what cannot go together is refused here, before data are read. Internal to
/// runs/.

#include "unfold/runs/train_settings.h"

namespace unfold {

/// Looking back is what no gradient says.
void settle_gradient(TrainSettings& s);
/// 1 is as if nobody had said anything.
void check_shards(TrainSettings& s);
/// Half the memory of a gradient, of floats that are computed on the processor.
void check_activations(TrainSettings& s, const RunSettings& run);
/// What no device runs.
void check_device(const TrainSettings& s, const RunSettings& run);

}  // namespace unfold
