#pragma once
/// Evaluation examples of a run on data with fields. Internal to app/.

#include <optional>
#include <string>
#include <vector>

#include "app/compare/evaluation_data.h"
#include "app/fields/field_model.h"
#include "data/cells/date_cell.h"

namespace unfold {

/// The dates of the positions of a single series that are predicted.
struct SeriesDates {
  std::string column;                        ///< empty: the data has several examples, or no column of dates
  std::vector<std::optional<Moment>> dates;  ///< one per position; they ascend
};

/// `unknown`: handling of labels not seen in training, "error" or "skip". `dates`: if it is set, receives the dates.
/// Throws DataError.
ExampleSet judged_examples(const Model& model, const NetworkLayout& layout, const EvaluationFiles& judged,
                           const std::string& unknown, SeriesDates* dates = nullptr);

}  // namespace unfold
