#include <nlohmann/json.hpp>

#include "check.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/inference/table_cells.h"
#include "unfold/base/error.h"

using namespace unfold;

/// The values of a column of plain numbers are those of its cells.
static void check_numbers(TableCells& cells, std::size_t column) {
  const TableCells::Numbers& numbers = cells.numbers(column);
  if (!numbers.complete) return;
  check(static_cast<Index>(numbers.values.size()) == cells.rows());
  for (Index r = 0; r < cells.rows(); ++r)
    if (numbers.missing.empty() || numbers.missing[at(r)] == 0)
      check(scan_number(without_zero_decimals(cells.cell(r, column))).value == numbers.values[at(r)]);
}

/// The first byte selects the options and the pieces; the other bytes are a table. The result must be a DataError, or a
/// schema with consistent counts that does not depend on the pieces and has a printable description. The recorded cells
/// belong to its rows.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = as_text(data + 1, size - 1);
  SchemaOptions options;
  if ((data[0] & 1) != 0) options.decimal = DecimalMark::comma;
  if ((data[0] & 2) != 0) options.header = (data[0] & 4) != 0;
  if ((data[0] & 8) != 0) options.comment = "#";
  if ((data[0] & 16) != 0) options.missing = {.spellings = {"x"}, .defaults = (data[0] & 32) != 0};
  try {
    TableCells cells(bytes);
    const TableSchema schema = infer_table_schema("input", bytes, options, cells);
    check(cells.rows() == schema.rows);
    for (std::size_t c = 0; c < schema.columns.size(); ++c) check_numbers(cells, c);
    for (const ColumnSchema& column : schema.columns) {
      check(column.rows == schema.rows && column.missing >= 0 && column.missing <= column.rows);
      check(column.odd >= 0 && column.odd <= column.entries());
      check(column.distinct >= 0 && column.distinct <= column.rows);
      check(column.odd_cells.size() <= kMostOddCells && column.examples.size() <= kMostExamples);
    }
    for (const char c : describe(schema)) check(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    SchemaInference pieces("input", options);
    const std::size_t step = 1 + data[0] % 7U;
    for (std::size_t i = 0; i < bytes.size(); i += step) pieces.add(bytes.substr(i, step));
    check(to_json(pieces.finish()) == to_json(schema));
  } catch (const DataError&) {
  }
  return 0;
}
