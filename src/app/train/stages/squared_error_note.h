#pragma once
/// Notes on predicted numbers whose squared error is hardly smaller than that of their mean.

#include <string>
#include <vector>

#include "app/fields/evaluation/field_metrics.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {

/// Returns a note for each predicted number whose normalized squared error is above 0.95: whether a few values dominate
/// it, and the median absolute error with that of the median of the training data. `figures`: of the examples
/// `measured`.
std::vector<std::string> squared_error_notes(const FieldFigures& figures, const ExampleSet& training,
                                             const ExampleSet& measured);

}  // namespace unfold
