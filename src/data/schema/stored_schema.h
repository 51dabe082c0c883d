#pragma once
/// The part of a schema that a model needs to read further tables like its training data: the columns whose type or
/// spelling does not follow from the fields of the model.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/schema/table_schema.h"

namespace unfold {

/// Returns an object with the texts, dates and numbers with a decimal comma or thousands separators among the columns
/// that are not left out; null if there are none.
nlohmann::json stored_schema(const TableSchema& schema);
/// States the types of these columns. Throws ModelError if the object is invalid.
void apply_stored_schema(const nlohmann::json& json, SchemaOptions& options);
/// States the type of a column as stored_schema does.
StatedType stated_type(const ColumnSchema& column);

}  // namespace unfold
