#pragma once
/// Metrics of cross-validated predictions: each example is predicted by a model that was fitted without it.

#include <span>

#include "app/fields/evaluation/field_metrics.h"

namespace unfold {

/// Returns the same metrics as evaluate_fields. `outputs`: for each head, the signals that its loss reads, one row per
/// example. REQUIRES that all heads predict once per example.
template <class T>
FieldFigures evaluate_left_out(const NetworkModel<T>& model, const ExampleSet& examples,
                               std::span<const Matrix<const T>> outputs, Team& team);

}  // namespace unfold
