#pragma once
/// Reads the series of a table: one series for each group and value column.
///
/// | table | series |
/// | --- | --- |
/// | one column | its values in the order of the lines |
/// | columns | each predicted column; with a group column, each group and predicted column (long tables). Several
///             group columns (`--group store,item`) are joined |
/// | one row per year   | one monthly series, if the columns after the year are named like the twelve months |
/// | one row per series | each row; recognized by the names of the columns after the first, which are consecutive
///                       numbers (V2, V3, ...) or dates |
///
/// The roles follow from the schema (data/schema/column_roles.h), as `inspect` shows them: the group (if times repeat,
/// otherwise the first categorical column), the time (order), and the predicted columns: those of --predict, otherwise
/// the one that the schema predicts. If that is not numeric, all numeric columns that are neither group nor time are
/// forecast. `notes` names the other numeric columns, which are inputs. Rows are sorted by time; times missing from a
/// regular step are missing values. Times
/// without a regular step are treated as consecutive, which `notes` reports. If the dates are those of an open shop,
/// such as every day except Sunday, the steps are open days; `notes` reports this, too.

#include <optional>
#include <string>
#include <vector>

#include "app/forecast/time_parts.h"
#include "data/schema/table_schema.h"
#include "model/forecast/time_index.h"
#include "unfold/base/formats/file.h"

namespace unfold {

struct TableSeries {
  std::string group = {};  ///< name of the group; empty if there is none
  std::string field = {};
  forecasting::TimeIndex index = {};
  std::vector<double> values = {};     ///< NaN: missing
  std::vector<Moment> irregular = {};  ///< the dates of the values if they have no regular step
};

/// A column whose future values are known. A column of categories is read as indicators, one field named
/// COLUMN=CATEGORY for each category except the most frequent one.
struct Covariate {
  std::string column = {};
  StatedType type = {};                      ///< how its cells are read
  std::vector<std::string> categories = {};  ///< the most frequent one first, "" for empty cells; no entry: numbers
};

struct SeriesTable {
  std::vector<TableSeries> series =
      {};  ///< groups in the order of their first rows; the fields of a group are adjacent
  std::vector<std::string> fields = {};
  bool has_groups = false;
  std::vector<std::string> notes = {};
  std::vector<Covariate> covariates = {};  ///< those of SeriesColumns that the table has
  std::vector<std::string> columns = {};   ///< names of all columns
  std::string group_column = {}, time_column = {};
  std::optional<DateFormat> date_format = {};  ///< of the time column
  std::optional<TimePart> time_part = {};      ///< the column that continues the time column
};

/// The columns that are read as series.
struct SeriesColumns {
  /// Further columns of numbers or categories that are read but, unless --predict names them, not predicted; unknown
  /// names are ignored.
  std::vector<std::string> covariates = {};
  /// Those of them that have no entries in another table, so they are covariates only if empty cells are a category.
  std::vector<std::string> without_entries = {};
  /// If not empty: only these columns are read, in the same way as those of another table.
  std::vector<Covariate> known = {};
  /// The format of dates that could have the day or the month first.
  std::optional<DateFormat> date_format = {};
  std::optional<TimePart> time_part =
      {};  ///< the column that continues the times; inferred unless `known` is specified
};

/// Returns the schema that `read_series_table` infers. Throws DataError for a table without rows.
TableSchema infer_series_schema(const Input& input, const SchemaOptions& stated);

/// Throws DataError for a table without numbers, for rows of the wrong length, and for two rows of a group at the same
/// time; UsageError for options that name unknown columns.
SeriesTable read_series_table(const Input& input, const SchemaOptions& stated, const SeriesColumns& columns = {});
SeriesTable read_series_table(const std::string& path, const SchemaOptions& stated, const SeriesColumns& columns = {});

}  // namespace unfold
