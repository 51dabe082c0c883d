#pragma once
/// Internal: the entries that identify the examples of a table.

#include <algorithm>

#include "data/schema/table_schema.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Returns the column whose entries group the rows of a table into examples; null if there is none, or if it has more
/// than one entry per example.
inline const ExampleColumn* column_of_group(const Examples& examples) {
  if (examples.schema == nullptr) return nullptr;
  const auto& columns = examples.schema->columns;
  const auto group = std::ranges::find(columns, ColumnRole::group, &ColumnSchema::role);
  const ExampleColumn* column = group == columns.end() ? nullptr : examples.find(group->name);
  return column != nullptr && column->once ? column : nullptr;
}

}  // namespace unfold
