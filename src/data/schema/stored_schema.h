#pragma once
/// The part of a schema that a model needs in order to read other tables in the same way as its training data: the
/// columns whose type or notation does not follow from the fields of the model.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/schema/table_schema.h"

namespace unfold {

/// Returns an object with the columns, among those not left out, that contain text, dates, or numbers with a decimal
/// comma or thousands separators; null if there are none.
nlohmann::json stored_schema(const TableSchema& schema);
/// Sets the types of these columns as if they were specified by options. Throws ModelError if the object is invalid.
void apply_stored_schema(const nlohmann::json& json, SchemaOptions& options);
/// Sets the type of a column in the form that stored_schema returns.
StatedType stated_type(const ColumnSchema& column);

}  // namespace unfold
