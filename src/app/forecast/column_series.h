#pragma once
/// Tables whose columns are times, groups and values: the table reader collects and sorts the rows of each group.

#include <string>
#include <vector>

#include "app/forecast/series_table.h"
#include "data/readers/reader_text.h"
#include "data/schema/table_layout.h"

namespace unfold {

/// `groups`: several columns that identify the series together; empty otherwise.
SeriesTable read_column_series(const ReaderText& text, const Input& input, const TableLayout& layout,
                               const SchemaOptions& options, const std::vector<std::string>& groups,
                               const SeriesColumns& columns);

}  // namespace unfold
