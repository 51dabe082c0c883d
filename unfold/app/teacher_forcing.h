#pragma once
/// Conversion of training settings to a teacher-forcing schedule (training/own_outputs.h).

#include "unfold/runs/train_settings.h"
#include "unfold/training/own_outputs.h"

namespace unfold {

/// Throws UsageError for a schedule without ratios or with invalid ones.
TeacherForcing teacher_forcing(const TrainSettings& settings);

}  // namespace unfold
