#pragma once
/// Data that is so simple that a baseline (baselines.h) makes no errors, such as a series with only one value. No model
/// can be better than such a baseline, and there is no scale on which to compare errors.

#include "model/selection/baselines.h"

namespace unfold {

/// Returns whether all entries of a field are equal.
bool is_constant(const FieldStatistics& statistics);
/// Returns whether neither the baseline nor the model, which has the given result, makes an error.
bool are_both_exact(double result, const Baseline& baseline);

}  // namespace unfold
