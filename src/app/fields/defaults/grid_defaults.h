#pragma once
/// Default settings for models over grids (images).

#include "app/fields/field_plan.h"

namespace unfold {

/// Sets model, optimizer, batch size and budget unless they were set explicitly. Models that label whole grids read
/// blocks of pixels in two layers; models that label positions read every position. Throws UsageError for settings that
/// do not apply to grids.
void set_grid_defaults(Problem problem, const Examples& examples, const Given& given, TrainSettings& settings);

}  // namespace unfold
