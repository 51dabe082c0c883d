#pragma once
/// Inference of the schema of a table in one pass over its bytes, with bounded memory.
///
/// The separator, the header and the number of columns are determined from the first 256 KiB, the types from all rows.
/// Memory: at most 64 KiB per column for distinct values and 64 MiB for all columns together, plus the longest row.
///
/// The type of a column is determined by the first rule that fits. Entries are the cells that are not missing. "Fits":
/// at least 90 % of the entries, or all but one of at least four; the cells that do not fit are *odd cells*, which
/// `inspect` lists and readers reject (`require_regular`). An odd cell never changes the type of its column.
///
/// | type | rule |
/// | --- | --- |
/// | missing | an empty cell; `null None N/A NA n/a nan NaT #N/A <NA>` (also `NULL Null none NONE na NaN NAN`); in
/// columns
///             of numbers and dates `- . ?` too. `--missing` adds spellings |
/// | empty | there are no entries |
/// | constant | no cell is missing, all are equal, and there are at least two |
/// | date | one format fits: see DateFormat. 03/04/2024 is read as the unambiguous dates of the column are; if there
/// are
///          none, as the reading with the more regular step or in order, else with the month first; with points and
///          dashes with the day first. Years, YYYYMMDD and Unix seconds or milliseconds only in columns named like
///          dates |
/// | identifier, category | integers with leading zeros or beyond 2^53, if they are more than 10 % or all integers have
///          equal length: kept as text; identifier if 90 % are distinct or the name says so, else category |
/// | number | one convention of decimal mark and thousands separator fits; decimals or exponents occur |
/// | category | integers, at most 20 different ones, each twice on average, in a column named like a class |
/// | identifier | integers in a column named like an identifier, or 0 ... n-1 or 1 ... n in order (n >= 5) or in
///          any order (n >= 10) |
/// | integer | other integers |
/// | identifier | UUIDs; texts without blanks in a column named like an identifier; texts without blanks and with
/// digits
///          of which 90 % are distinct |
/// | text | more than half of at least 20 entries are distinct; or fewer entries, all distinct, most with several
/// words;
///          or three words on average and fewer than five repetitions of each |
/// | category | other texts |
///
/// "1,200" and "1.234" are ambiguous. The convention under which the largest number of cells are numeric is chosen; in
/// a tie, the one with the decimal mark of the table is chosen. This is the mark of the unambiguous columns; if there
/// are none, it is a comma in tables separated by semicolons in which 1,234 occurs, otherwise a point.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/schema/table_schema.h"

namespace unfold {

class TableCells;

/// A column of a table in memory.
struct ColumnCells {
  std::string name;
  /// Whether the cells are numbers, written with a decimal point; other cells become numbers only if an option requires
  /// it.
  bool numbers = false;
  std::function<std::string_view(Index row)> cell;  ///< valid until the next call; empty: missing
};

/// Infers a schema from bytes that arrive in pieces.
class SchemaInference {
 public:
  /// `source` is the name of the file for messages.
  SchemaInference(std::string source, SchemaOptions options);
  SchemaInference(SchemaInference&&) noexcept;
  SchemaInference& operator=(SchemaInference&&) noexcept;
  ~SchemaInference();

  /// Throws DataError if the bytes are UTF-16, and UsageError if an option names a column that does not exist (with the
  /// nearest name).
  void add(std::string_view bytes);
  /// Returns the schema; the object must not be used again. Throws like `add`, and DataError for a table without rows.
  TableSchema finish();
  /// Returns the schema of a table in memory; instead of `add` and `finish`. Rows are counted from 1 and are used
  /// instead of lines.
  TableSchema finish(const std::vector<ColumnCells>& columns, Index rows);
  /// Returns the schema of all bytes of a table; instead of `add` and `finish`. Records the cells if `cells` is not
  /// null.
  TableSchema finish(std::string_view bytes, TableCells* cells);

 private:
  class State;
  std::unique_ptr<State> state_;
};

TableSchema infer_table_schema(const std::string& source, std::string_view bytes, const SchemaOptions& options = {});
/// Like the function above; also records the cells.
TableSchema infer_table_schema(const std::string& source, std::string_view bytes, const SchemaOptions& options,
                               TableCells& cells);
TableSchema infer_table_schema(const std::string& source, const std::vector<ColumnCells>& columns, Index rows,
                               const SchemaOptions& options = {});
/// Reads a file in pieces; a compressed file or standard input ("-") is read like Input::open does.
TableSchema infer_table_schema_of_file(const std::string& path, const SchemaOptions& options = {});

}  // namespace unfold
