#pragma once
/// Columns that a model of a table reads and new data does not have, such as a label that is assigned later. Their
/// values are treated as missing.

#include <string>
#include <vector>

#include "unfold/data/examples/examples.h"
#include "unfold/model/model.h"

namespace unfold {

/// Key of the model card that contains, for columns of the training data, the metric of each predicted field in
/// validation with and without the values of the column: {COLUMN: {FIELD: {"measure", "with", "without"}}}.
inline constexpr const char* kWithoutColumnKey = "without_column";

/// Appends a column without values for each input of the model that the data does not have. Returns warnings that name
/// the columns and, if it was measured, the loss of accuracy. `inputs`: the fields that the model reads and does not
/// predict. Throws DataError if a text is missing, if the data has a column of a similar name that the model does not
/// read, and if it has no input at all.
std::vector<std::string> add_missing_columns(const Model& model, const std::vector<std::string>& inputs,
                                             Examples& examples);

/// Returns the examples without the values of a column. REQUIRES: the column exists.
Examples without_values_of(Examples examples, const std::string& column);

}  // namespace unfold
