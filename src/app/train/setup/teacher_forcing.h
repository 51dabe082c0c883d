#pragma once
/// Conversion of training settings to a teacher-forcing schedule (train/objective/scheduled_sampling.h).

#include "app/settings/train_settings.h"
#include "unfold/train/objective/scheduled_sampling.h"

namespace unfold {

/// Throws UsageError for a schedule without ratios or with invalid ones.
TeacherForcing teacher_forcing(const TrainSettings& settings);

}  // namespace unfold
