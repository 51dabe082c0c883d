#pragma once
/// Evaluation examples of a run on data with fields. Internal to app/.

#include "app/compare/evaluation_data.h"
#include "app/fields/field_model.h"

namespace unfold {

/// `unknown`: handling of labels not seen in training, "error" or "skip". Throws DataError.
ExampleSet judged_examples(const Model& model, const NetworkLayout& layout, const EvaluationFiles& judged,
                           const std::string& unknown);

}  // namespace unfold
