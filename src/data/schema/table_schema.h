#pragma once
/// The schema of a table: what its columns contain, how their cells are read, and what each column is used for.
///
/// `infer_table_schema` (infer_schema.h) infers a schema from the bytes of a file and the options; `describe` and
/// `to_json` (describe_schema.h) format it. Lines are numbered from 1. All lists of examples, odd cells and lines are
/// bounded; the accompanying counts are complete.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/cells/date_cell.h"
#include "data/cells/date_step.h"
#include "data/cells/numeric_cell.h"
#include "data/schema/date_parts.h"

namespace unfold {

enum class ColumnType { number, integer, category, text, date, identifier, constant, empty };
enum class ColumnRole { read, predicted, group, order, left_out };
enum class TextUnit { words, characters };
enum class RowMeaning { independent, sequence };

const char* type_name(ColumnType type);  ///< "number", ..., "identifier"
const char* role_name(ColumnRole role);  ///< "read", "predicted", "group", "order", "left out"

/// A cell that does not fit the type of its column.
struct OddCell {
  Index line = 0;
  std::string text;  ///< at most kMostOddBytes bytes of the cell
};
inline constexpr std::size_t kMostOddCells = 10;
inline constexpr std::size_t kMostOddBytes = 80;
inline constexpr std::size_t kMostExamples = 3;
inline constexpr std::size_t kMostLines = 5;  ///< maximum number of line numbers in a list

struct ColumnSchema {
  std::string name;
  ColumnType type = ColumnType::empty;
  bool stated = false;      ///< the type was set by an option
  std::string type_reason;  ///< a sentence without a period
  ColumnRole role = ColumnRole::left_out;
  std::string role_reason;

  Index rows = 0;     ///< cells of the column
  Index missing = 0;  ///< missing cells
  Index distinct = 0;
  bool distinct_exact = true;  ///< false: `distinct` is an estimate
  std::vector<std::string> examples;
  Index odd = 0;
  std::vector<OddCell> odd_cells;

  NumberConvention convention;        ///< convention of numbers and integers
  std::optional<double> least, most;  ///< smallest and largest value of numbers and integers
  int decimals = 0;                   ///< resolution: maximum number of digits after the decimal mark
  std::string number_unit;            ///< "%" or "$" if the cells are numbers with this unit (numeric_cell.h)
  bool class_labels = false;          ///< a category whose values are integers
  std::optional<DateFormat> date_format;
  bool has_time = false;      ///< dates with a time of day
  bool exchangeable = false;  ///< day and month of all dates could be exchanged, and no option specifies their order
  DateStep step;
  TextUnit unit = TextUnit::words;  ///< for texts: how a text is split
  double words = 0;                 ///< mean number of words of the entries that are neither numbers nor dates
  bool panel = false;   ///< a panel: times repeat, but no two rows have the same time and the same entry in this column
  bool serial = false;  ///< a row is more similar (or less similar) to the preceding row than to earlier ones
  bool sorted = false;  ///< numbers in ascending or descending order; other entries: equal ones are neighbors

  Index entries() const { return rows - missing; }
};

/// A row with more or fewer cells than the others.
struct RaggedRow {
  Index line = 0, cells = 0;
};
inline constexpr std::size_t kMostRaggedRows = 10;

/// Number of occurrences in a file, and the lines of the first occurrences.
struct LineCount {
  Index count = 0;
  std::vector<Index> lines;
  void add(Index line, Index n = 1);
};

struct LineEnds {
  Index lf = 0, crlf = 0, cr = 0;
};

inline constexpr const char* kRowsAreStated = "set by --rows";  ///< TableSchema::rows_reason

struct TableSchema {
  std::string source;
  char separator = ',';  ///< '\0' for a table with one column
  bool header = false;
  std::string header_reason;
  Index rows = 0;  ///< number of rows without the header, comments, empty lines and rows of a different length
  LineEnds line_ends;
  bool byte_order_mark = false;
  LineCount undecodable;                    ///< bytes that are not UTF-8
  LineCount control_characters;             ///< control characters other than tabs and newlines
  LineCount ragged;                         ///< rows with more or fewer cells than the others
  std::vector<RaggedRow> ragged_rows = {};  ///< the first of these rows, at most kMostRaggedRows
  Index first_line = 0;                     ///< line of the first row with the usual number of cells
  Index first_row = 0;                      ///< line of the first row below the names
  LineCount misplaced_quotes;               ///< text after a closing quote
  Index unclosed_quote = 0;                 ///< line of a quote without a closing quote; 0 if there is none
  Index comments = 0;
  std::string layout = {};  ///< how the rows are stored if not as separated cells: "one JSON object per line"
  std::optional<DateParts> date_parts = {};  ///< the columns whose cells together are the dates of the rows
  std::vector<std::string> periods = {};     ///< columns whose names are years or dates: each row may be a series
  bool events = false;  ///< events of groups in time: the next event is predicted from the earlier ones
  /// Each row is an example with its own label, as in a survey; otherwise the rows, or the rows of each group, form a
  /// sequence. Rows with texts are always examples (`text`).
  bool independent_rows = false;
  std::string rows_reason = {};  ///< a clause; empty if regular times, texts or options decide, or if there is one
                                 ///< column
  Index blank_separated = 0;     ///< values between blanks in each row of a table with one column; 0: there are none
  std::vector<std::string> stated_missing = {};  ///< spellings of missing cells that an option specifies
  std::vector<std::string> notes;
  std::vector<ColumnSchema> columns;

  /// Returns nullptr if there is no such column.
  const ColumnSchema* find(std::string_view name) const;
  /// Returns the column whose texts are the examples, in which case the rows are independent of each other; nullptr if
  /// consecutive rows form sequences.
  const ColumnSchema* text() const;
  /// Returns whether the words of this column follow those of `text` in the same row: several columns are read as one
  /// text, in their order.
  bool continues_text(const ColumnSchema& column) const;
};

/// The type that an option specifies for a column.
struct StatedType {
  ColumnType type = ColumnType::number;
  std::optional<TextUnit> unit;                     ///< `words` and `characters`
  std::optional<DateFormat> date_format;            ///< `date:DD/MM/YYYY`
  std::optional<NumberConvention> convention = {};  ///< convention stored in a model; inferred if the option does not
                                                    ///< specify it
  std::string number_unit = {};                     ///< unit stored in a model; numbers with other units are odd cells
};

/// What a reader does with a row that has an odd cell or a different number of cells: an error, or the row is skipped.
enum class BadRows { error, skip };

/// Which cells are missing values. An empty cell always is.
struct MissingCells {
  std::vector<std::string> spellings = {};  ///< in columns of every type
  bool defaults = true;                     ///< the usual spellings (`missing_spelling` in missing_cells.h) count, too
};

/// What the user specifies about a table; everything else is inferred.
struct SchemaOptions {
  std::map<std::string, StatedType> types = {};
  MissingCells missing = {};
  BadRows bad_rows = BadRows::error;
  std::optional<DecimalMark> decimal = {};
  std::optional<ThousandsMark> thousands = {};
  std::optional<bool> header = {};
  std::string comment = {};  ///< prefix of lines that are skipped; empty: there are none
  std::optional<std::string> group = {}, order = {};
  std::optional<RowMeaning> rows = {};               ///< whether rows are separate examples or form sequences
  std::vector<std::string> read = {}, predict = {};  ///< empty: inferred
  bool ignore_absent = false;  ///< types and names of fields that are not columns are ignored: they belong to a model
  bool date_parts = true;      ///< columns of years, months and days may be one date (date_parts.h)
  bool infer_roles = true;  ///< false: only `group` and `order` define sequences, and other columns are not predicted
};

/// Parsers of command-line values. All throw UsageError, with the nearest name where there is one. `COLUMN=TYPE,...`;
/// the types are number, integer, category, text, words, characters, date, date:PATTERN and id.
std::map<std::string, StatedType> parse_column_types(std::string_view text);
std::vector<std::string> parse_missing(std::string_view text);  ///< separated by commas
DecimalMark parse_decimal_mark(std::string_view text);          ///< comma, point
ThousandsMark parse_thousands_mark(std::string_view text);      ///< none, comma, point, space
bool parse_header(std::string_view text);                       ///< yes, no
bool parse_default_missing(std::string_view text);              ///< yes, no
RowMeaning parse_row_meaning(std::string_view text);            ///< independent, sequence
BadRows parse_bad_rows(std::string_view text);                  ///< error, skip

/// Returns the option `--missing` with the spellings that it has already and those of `cells` that can be written in
/// it; empty if there are none.
std::string missing_option(const std::vector<std::string>& stated, const std::vector<std::string>& cells);

/// Throws a DataError if a table has errors that a reader could only resolve by guessing: odd cells in columns that are
/// not left out, rows of a different length, or quotes that are unclosed or misplaced. The message describes the first
/// error and the options that help, and lists the places of the first errors with their total number. With
/// `BadRows::skip`, only errors that concern more than single rows are thrown.
void require_regular(const TableSchema& schema, BadRows bad_rows = BadRows::error);

/// Returns the places of the first rows that a reader cannot use, one text per place, in the order of lines: "line 5: 4
/// cells instead of 3", "line 92, column load: "x"".
std::vector<std::string> bad_places(const TableSchema& schema);

}  // namespace unfold
