#pragma once
/// What models over grids make of data and settings.

#include "unfold/fields/field_data.h"

namespace unfold {

/// Model, optimiser, batch and budget, where nobody gave them: labels of whole grids are read from blocks, in two
/// layers, labels of positions from all positions. Throws UsageError for settings that have no meaning in grids.
void settle_grids(Problem problem, const Examples& examples, const Given& given, TrainSettings& settings);

}  // namespace unfold
