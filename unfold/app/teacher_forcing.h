#pragma once
/// What the settings of a training say about reading true outputs (training/own_outputs.h).

#include "unfold/runs/train_settings.h"
#include "unfold/training/own_outputs.h"

namespace unfold {

/// Throws UsageError: a schedule without shares, shares that are none.
TeacherForcing teacher_forcing(const TrainSettings& settings);

}  // namespace unfold
