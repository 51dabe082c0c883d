#pragma once
/// The columns of a table that are series: the times, the groups and the values.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/forecast/series_table.h"
#include "data/readers/reader_text.h"
#include "data/schema/table_layout.h"

namespace unfold {

/// The values of a column, or, for a category, whether the cells contain it.
struct SeriesField {
  std::size_t column = 0;
  std::string name = {};
  std::optional<std::string> category = {};
  bool empty_is_category = false;  ///< whether empty cells are a category of the column, named by an empty string
};

struct SeriesRoles {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  TableSchema schema = {};
  std::size_t group = kNone, order = kNone;
  std::size_t part = kNone;  ///< the column that continues the times of `order`
  std::optional<TimePart> time_part = {};
  std::vector<std::size_t> joined = {};  ///< several columns that identify the series together, instead of `group`
  std::vector<SeriesField> fields = {};
  std::vector<std::string> inputs = {};  ///< names of the numeric columns that are not forecast
  std::map<std::string, StatedType> types = {};
  std::vector<std::string> notes = {};

  bool has_group() const { return group != kNone; }
  bool has_times() const { return order != kNone; }
  bool is_joined(std::size_t column) const;
  const ColumnSchema& group_column() const { return schema.columns[group]; }
  const ColumnSchema& time_column() const { return schema.columns[order]; }
};

/// Returns whether a column is read as indicators of its categories.
bool has_categories(const SeriesColumns& columns, const ColumnSchema& column);
bool is_covariate(const SeriesColumns& columns, const ColumnSchema& column);

/// Chooses the roles. `groups`: several columns that identify the series together; empty otherwise. Removes the columns
/// that cannot be covariates from `columns`. Throws DataError if there is nothing to forecast.
SeriesRoles choose_series_roles(const ReaderText& text, const TableLayout& layout, const SchemaOptions& options,
                                const std::vector<std::string>& groups, SeriesColumns& columns);

}  // namespace unfold
