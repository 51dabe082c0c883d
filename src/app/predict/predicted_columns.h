#pragma once
/// Predictions on data with named fields as columns instead of text.

#include <string>
#include <vector>

#include "app/predict/predict.h"

namespace unfold {

/// A column of predictions: strings or numbers, one per position, or one per example if `once`.
struct PredictedColumn {
  std::string name;
  bool once = false;
  std::vector<std::string> texts = {};
  std::vector<double> numbers = {};
};

/// Returns the columns that `predict` adds to the data (predict.h), in the order of the rows of a table in memory.
/// Throws UsageError for requests whose results are not columns: targets of a source, forecasts (`ahead`) and streams.
/// Throws like `predict`.
std::vector<PredictedColumn> predict_columns(const PredictRequest& request, Reporter& reporter);

}  // namespace unfold
