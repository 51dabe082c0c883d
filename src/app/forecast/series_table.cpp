#include "app/forecast/series_table.h"

#include <algorithm>

#include "app/fields/predicted_list.h"
#include "app/forecast/cell_rows.h"
#include "app/forecast/column_series.h"
#include "app/forecast/month_table.h"
#include "app/forecast/row_series.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/only_header.h"
#include "data/schema/require_column.h"

namespace unfold {
namespace {

/// Returns the columns of `--group a,b`; empty if fewer than two columns are named. Throws UsageError for an unknown
/// column.
std::vector<std::string> joined_groups(const TableLayout& layout, const SchemaOptions& options) {
  const auto is_column = [&](const std::string& name) {
    return std::ranges::find(layout.names, name) != layout.names.end();
  };
  if (!options.group || is_column(*options.group)) return {};
  std::vector<std::string> groups = split_names(*options.group);
  if (groups.size() < 2) return {};
  for (const std::string& name : groups) require_column("--group", name, layout.names);
  return groups;
}

}  // namespace

TableSchema infer_series_schema(const Input& input, const SchemaOptions& stated) {
  SchemaOptions options = stated;
  options.rows = RowMeaning::sequence;
  const ReaderText text(input);
  TableSchema schema = infer_table_schema(text.source(), text.text(), options);
  if (schema.rows == 0) refuse_only_header(text.source());
  return schema;
}

SeriesTable read_series_table(const std::string& path, const SchemaOptions& stated, const SeriesColumns& columns) {
  return read_series_table(Input::open(path), stated, columns);
}

SeriesTable read_series_table(const Input& input, const SchemaOptions& stated, const SeriesColumns& columns) {
  SchemaOptions options = stated;
  options.rows = RowMeaning::sequence;
  const ReaderText text(input);
  CellRows rows(text, options);
  const std::vector<std::string> groups = joined_groups(rows.layout(), options);
  if (!groups.empty()) options.group.reset();
  const bool months = groups.empty() && has_month_columns(rows.layout(), options);
  if (!months && (!groups.empty() || !has_series_in_rows(rows.layout(), options)))
    return read_column_series(text, input, rows.layout(), options, groups, columns);
  SeriesTable table =
      months ? read_month_table(input.name(), rows, options) : read_row_series(input.name(), rows, options);
  input.require_whole();
  return table;
}

}  // namespace unfold
