#pragma once
/// Metrics of predictions that were made for each example without it, by cross-validation.

#include <span>

#include "app/fields/field_metrics.h"

namespace unfold {

/// Returns the same metrics as evaluate_fields. `outputs`: for each head, the signals that its loss reads, one row per
/// example. REQUIRES that all heads predict once per example.
template <class T>
FieldFigures evaluate_left_out(const NetworkModel<T>& model, const ExampleSet& examples,
                               std::span<const Matrix<const T>> outputs, Team& team);

}  // namespace unfold
