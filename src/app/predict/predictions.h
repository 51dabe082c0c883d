#pragma once
/// Internal: the predictions of a model for examples, as columns.

#include <vector>

#include "app/fields/field_stepper.h"
#include "app/predict/added_column.h"
#include "app/predict/predict.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// How a model produces the requested predictions.
template <class T>
struct PredictionKind {
  PredictionKind(const NetworkModel<T>& model, const PredictRequest& request);

  bool source, finds;  ///< whether whole sequences are predicted, with or without a source
  bool decodes;        ///< whether the network reads earlier labels, which a search finds
  bool numbers;        ///< whether numbers are predicted
  bool searches;       ///< whether the request requires a search over whole sequences
};

/// Returns the columns of all examples: labels or numbers of each position, the best labels under a constraint, or
/// whole targets.
template <class T>
std::vector<AddedColumn> predictions(const NetworkModel<T>& model, const ExampleSet& set, const PredictRequest& request,
                                     Team& team);

/// Advances the stepper to the last row of `window` and returns the predictions for this row.
template <class T>
std::vector<AddedColumn> stepped_columns(const NetworkModel<T>& model, const ExampleSet& window,
                                         FieldStepper<T>& stepper, const PredictRequest& request);

/// Predicted classes that are integers, true or false are written as in the data.
template <class T>
void mark_integers(const NetworkModel<T>& model, const Examples& examples, std::vector<AddedColumn>& added);

}  // namespace unfold
