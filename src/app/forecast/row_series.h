#pragma once
/// Tables with one row per series: the columns after the first are named by consecutive numbers or by dates.

#include <string>

#include "app/forecast/cell_rows.h"
#include "app/forecast/series_table.h"

namespace unfold {

bool has_series_in_rows(const TableLayout& layout, const SchemaOptions& options);

SeriesTable read_row_series(const std::string& source, CellRows& rows, const SchemaOptions& options);

}  // namespace unfold
