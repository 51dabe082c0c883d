#pragma once
/// Tables with one row per series: the columns after the first are named by consecutive numbers or by dates.

#include <string>

#include "app/forecast/series_table.h"
#include "app/forecast/table_rows.h"

namespace unfold {

bool has_series_in_rows(const TableLayout& layout, const SchemaOptions& options);

SeriesTable read_row_series(const std::string& source, TableRows& rows, const SchemaOptions& options);

}  // namespace unfold
