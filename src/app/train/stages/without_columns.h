#pragma once
/// Validation of a trained model without the values of single columns, for labels that new data may not have yet.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/fields/evaluation/field_metrics.h"

namespace unfold {

/// Returns the columns that are read in addition to the text of each row of a table, at most four.
std::vector<std::string> columns_beside_text(const Examples& examples);

/// Returns, for each column, the metric of each head on the validation examples with and without its values, in the
/// form of kWithoutColumnKey. `found`: the metrics with all columns.
template <class T>
nlohmann::json metrics_without(const std::vector<std::string>& columns, const NetworkModel<T>& model,
                               const Examples& validation, const FieldFigures& found, Team& team);

/// Returns one sentence for each column and head of the result.
std::vector<std::string> describe_metrics_without(const nlohmann::json& columns);

}  // namespace unfold
