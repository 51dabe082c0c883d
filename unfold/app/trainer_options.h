#pragma once
/// What the settings of a training say to the trainer.

#include "unfold/runs/train_settings.h"
#include "unfold/training/trainer.h"

namespace unfold {

/// All but where files are and who takes part. REQUIRES canonical settings. Throws UsageError for one that says
/// something impossible.
TrainerOptions trainer_options(const TrainSettings& settings, const RunSettings& run);

}  // namespace unfold
