#pragma once
/// Tables with a row per year and a column per month: one series.

#include <string>

#include "app/forecast/cell_rows.h"
#include "app/forecast/series_table.h"

namespace unfold {

bool has_month_columns(const TableLayout& layout, const SchemaOptions& options);

/// Throws DataError for rows that are not consecutive years of 12 months.
SeriesTable read_month_table(const std::string& source, CellRows& rows, const SchemaOptions& options);

}  // namespace unfold
