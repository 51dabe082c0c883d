#pragma once
/// Evaluation examples of a run on data with fields. Internal to look/.

#include "unfold/fields/field_model.h"
#include "unfold/look/judged_data.h"

namespace unfold {

/// `unknown`: handling of labels not seen in training, "error" or "skip". Throws DataError.
ExampleSet judged_examples(const Model& model, const NetworkLayout& layout, const JudgedFiles& judged,
                           const std::string& unknown);

}  // namespace unfold
