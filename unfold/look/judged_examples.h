#pragma once
/// Internal: the examples that a run of data with fields is judged on.

#include "unfold/fields/field_model.h"
#include "unfold/look/judged_data.h"

namespace unfold {

/// `unknown`: labels never seen in training, "error" or "skip". Throws DataError.
ExampleSet judged_examples(const Model& model, const NetworkLayout& layout, const JudgedFiles& judged,
                           const std::string& unknown);

}  // namespace unfold
