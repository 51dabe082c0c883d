#pragma once
/// The rows of a table that is read without the schema, and the numbers in their cells. Used for tables whose series
/// are not columns.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/cells/row_splitter.h"
#include "data/readers/reader_text.h"
#include "data/schema/table_layout.h"
#include "model/forecast/time_index.h"

namespace unfold {

/// The rows of a table below its header, with their line numbers.
class CellRows {
 public:
  CellRows(const ReaderText& text, const SchemaOptions& options)
      : text_(text.text()),
        layout_(table_layout(text.source(), text_, true, options)),
        splitter_(layout_.separator, layout_.line_end, layout_.comment) {}
  const TableLayout& layout() const { return layout_; }

  /// Reads the next row. Returns false at the end.
  bool next(TableRow& row);

 private:
  std::string_view text_;
  TableLayout layout_;
  RowSplitter splitter_;
  std::size_t position_ = 0;
  bool header_read_ = false;
};

/// The times of columns that are named by dates.
struct NamedTimes {
  forecasting::TimeIndex index;
  std::vector<Index> places;  ///< position of each column; not consecutive if times are absent
};
/// Returns std::nullopt if the columns are not named by dates.
std::optional<NamedTimes> times_of_names(std::span<const std::string> names);

/// Returns the number of a cell; NaN if it is missing, nothing if it is not a number.
std::optional<double> number_of_cell(std::string_view cell, const SchemaOptions& options);

/// Returns the number of a cell; NaN if it is missing. Throws DataError with the line if it is not a number.
double required_number(const std::string& source, const TableRow& row, std::size_t i, const SchemaOptions& options);

}  // namespace unfold
