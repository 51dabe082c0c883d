#pragma once
/// Conversion of training settings to trainer options.

#include "app/settings/train_settings.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// Throws UsageError for --curriculum-each-epoch without --curriculum.
Curriculum curriculum_of(const TrainSettings& settings);

/// Returns all options except file paths and participating processes. REQUIRES canonical settings. Throws UsageError
/// for an invalid setting.
TrainerOptions trainer_options(const TrainSettings& settings, const RunSettings& run);

}  // namespace unfold
