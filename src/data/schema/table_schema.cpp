#include "data/schema/table_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/options/shell_argument.h"
#include "base/options/suggestions.h"
#include "data/schema/bad_places_error.h"
#include "data/schema/describe_schema.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

std::vector<std::string> parts_between_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

/// Returns the index of a name. Throws UsageError.
std::size_t choice_of(const char* option, std::string_view text, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw UsageError(fmt::format("{}: \"{}\" is not one of {}{}", option, escape_cell(text, kMostOddBytes),
                               fmt::join(names, ", "), did_you_mean(text, names)));
}

StatedType parse_type(std::string_view text) {
  static const std::vector<std::string> kNames = {"number",     "integer", "category", "text",      "words",
                                                  "characters", "date",    "id",       "identifier"};
  constexpr std::string_view kDate = "date:";
  if (text.substr(0, kDate.size()) == kDate) {
    const std::optional<DateFormat> format = date_format_of(text.substr(kDate.size()));
    if (!format) {
      std::vector<std::string> patterns;
      patterns.reserve(kDateFormats);
      for (int i = 0; i < kDateFormats; ++i) patterns.emplace_back(date_pattern(static_cast<DateFormat>(i)));
      throw UsageError(fmt::format("--types: unknown date pattern \"{}\"; use one of {}",
                                   escape_cell(text.substr(kDate.size()), kMostOddBytes), fmt::join(patterns, ", ")));
    }
    return {ColumnType::date, {}, format};
  }
  switch (choice_of("--types", text, kNames)) {
    case 0: return {ColumnType::number, {}, {}};
    case 1: return {ColumnType::integer, {}, {}};
    case 2: return {ColumnType::category, {}, {}};
    case 3: return {ColumnType::text, {}, {}};
    case 4: return {ColumnType::text, TextUnit::words, {}};
    case 5: return {ColumnType::text, TextUnit::characters, {}};
    case 6: return {ColumnType::date, {}, {}};
    default: return {ColumnType::identifier, {}, {}};
  }
}

const char* odd_kind(ColumnType type) {
  switch (type) {
    case ColumnType::number: return "a number";
    case ColumnType::integer: return "an integer";
    default: return "a date of this column's format";
  }
}

bool is_used(const ColumnSchema& column) {
  return column.odd > 0 && !column.odd_cells.empty() && column.role != ColumnRole::left_out;
}

/// Returns the number of odd cells and of rows that cannot be read.
Index count_of_places(const TableSchema& schema) {
  Index count = schema.ragged.count + schema.misplaced_quotes.count;
  for (const ColumnSchema& column : schema.columns) count += is_used(column) ? column.odd : 0;
  return count;
}

/// Throws a DataError with a message about the first error, followed by the places of all errors if there are several.
[[noreturn]] void refuse_table(const TableSchema& schema, const std::string& first) {
  const std::string message = schema.source + ": " + first;
  const Index count = count_of_places(schema);
  if (count <= 1) throw DataError(message);
  const std::vector<std::string> places = bad_places(schema);
  std::vector<std::string> lines = {fmt::format("{} places cannot be read:", count)};
  for (const std::string& place : places) lines.push_back("  " + place);
  if (static_cast<Index>(places.size()) < count)
    lines.push_back(fmt::format("  and {} more", count - static_cast<Index>(places.size())));
  throw BadPlacesError(message, std::move(lines));
}

/// Returns whether a cell that does not fit its column is a date all the same, so that it is not a missing value.
bool is_date_of_other_format(const ColumnSchema& column, std::string_view cell) {
  return column.type == ColumnType::date && column.date_format && scan_date(cell).shape != DateScan::Shape::none;
}

/// Returns whether a cell that does not fit its column is a number all the same, with marks that the other numbers of
/// the column do not have, so that it is not a missing value.
bool is_number_with_other_marks(const ColumnSchema& column, std::string_view cell) {
  const NumberShape shape = scan_number(cell).shape;
  const bool numbers = column.type == ColumnType::number || column.type == ColumnType::integer;
  return numbers && shape >= NumberShape::point && !admits(column.convention, shape);
}

/// Returns the texts of the odd cells in all columns that are used, the cell `first` before the others. They may be
/// spellings of missing values.
std::vector<std::string> odd_texts(const TableSchema& schema, const OddCell& first) {
  std::vector<std::string> texts = {first.text};
  for (const ColumnSchema& column : schema.columns) {
    if (!is_used(column)) continue;
    for (const OddCell& cell : column.odd_cells)
      if (!is_date_of_other_format(column, cell.text) && !is_number_with_other_marks(column, cell.text) &&
          std::ranges::find(texts, cell.text) == texts.end())
        texts.push_back(cell.text);
  }
  return texts;
}

/// Returns whether all odd cells are in the first row below the names, in several columns: perhaps a second row of
/// names or a row of units.
bool has_second_names(const TableSchema& schema) {
  if (!schema.header || schema.ragged.count > 0) return false;
  Index line = 0, columns = 0;
  for (const ColumnSchema& column : schema.columns) {
    if (!is_used(column)) continue;
    if (column.odd != 1 || (columns > 0 && column.odd_cells[0].line != line)) return false;
    line = column.odd_cells[0].line;
    ++columns;
  }
  return columns > 1 && line == schema.first_row;
}

[[noreturn]] void refuse_odd_cell(const TableSchema& schema, const ColumnSchema& column) {
  const OddCell& cell = column.odd_cells[0];
  const std::string text = escape_cell(cell.text, kMostOddBytes), name = escape_cell(column.name, kMostOddBytes),
                    argument = shell_argument(name);
  const std::string where = fmt::format("line {}: \"{}\" in column {} ", cell.line, text, name);
  if (is_date_of_other_format(column, cell.text)) {
    const bool both = column.date_format == DateFormat::year_month_day &&
                      (parse_date(cell.text, DateFormat::day_month_year).has_value() ||
                       parse_date(cell.text, DateFormat::month_day_year).has_value());
    const std::string read_both =
        both
            ? fmt::format("--types {0}=date:DD/MM/YYYY or --types {0}=date:MM/DD/YYYY to read both formats, ", argument)
            : "";
    refuse_table(schema,
                 fmt::format("{}is a date in a different format than {}, the format of the column ({} of {} values "
                             "have it); write all dates in one format, or use {}--types {}=category, --read to leave "
                             "the column out, or --bad-rows skip to leave such rows out",
                             where, date_pattern(*column.date_format), column.entries() - column.odd, column.entries(),
                             read_both, argument));
  }
  if (is_number_with_other_marks(column, cell.text)) {
    const bool comma = column.convention.decimal == DecimalMark::comma;
    refuse_table(
        schema,
        fmt::format("{}does not have the decimal and thousands marks of the column, which is read with a decimal "
                    "{} ({} of {} values fit); write all numbers of the column with the same marks, or use "
                    "--decimal {} if the others are wrong, --types {}=category, --read to leave the column out, "
                    "or --bad-rows skip to leave such rows out",
                    where, comma ? "comma" : "point", column.entries() - column.odd, column.entries(),
                    comma ? "point" : "comma", argument));
  }
  std::string missing = missing_option(schema.stated_missing, odd_texts(schema, cell));
  if (!missing.empty()) missing += ", ";
  const std::string remedy =
      fmt::format("{}--types {}=category, --read to leave the column out, or --bad-rows skip to leave such rows out",
                  missing, argument);
  if (column.type != ColumnType::date && scan_number(cell.text).shape == NumberShape::infinite)
    refuse_table(schema, fmt::format("{}is not finite; use {}--bad-rows skip to leave such rows out, or leave the cell "
                                     "empty",
                                     where, missing));
  const bool number = scan_number(cell.text).shape != NumberShape::none || !split_unit(cell.text).number.empty();
  if (!column.number_unit.empty() && number)
    refuse_table(schema,
                 fmt::format("{}does not have the unit {} ({} of {} values have it); convert the value, or use "
                             "--types {}=category, --read to leave the column out, or --bad-rows skip to leave "
                             "such rows out",
                             where, column.number_unit, column.entries() - column.odd, column.entries(), argument));
  const std::string count = fmt::format("is not {} ({} of {} values are)", odd_kind(column.type),
                                        column.entries() - column.odd, column.entries());
  if (has_second_names(schema))
    refuse_table(schema, fmt::format("{}{}; line {} seems to be a second row of names or a row of units; remove it, or "
                                     "use --bad-rows skip to leave it out",
                                     where, count, cell.line));
  if (!schema.header && cell.line == schema.first_line)
    refuse_table(schema,
                 fmt::format("{}{}; if this row is not data, use --header yes to read it as the names of the columns, "
                             "or --comment with a text that only this row begins with",
                             where, count));
  refuse_table(schema, fmt::format("{}{}; use {}", where, count, remedy));
}

}  // namespace

const char* type_name(ColumnType type) {
  constexpr std::array<const char*, 8> kNames = {"number", "integer",    "category", "text",
                                                 "date",   "identifier", "constant", "empty"};
  return kNames[static_cast<std::size_t>(type)];
}

const char* role_name(ColumnRole role) {
  constexpr std::array<const char*, 5> kNames = {"read", "predicted", "group", "order", "left out"};
  return kNames[static_cast<std::size_t>(role)];
}

void LineCount::add(Index line, Index n) {
  count += n;
  if (lines.size() < kMostLines && (lines.empty() || lines.back() != line)) lines.push_back(line);
}

const ColumnSchema* TableSchema::find(std::string_view name) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const ColumnSchema& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

const ColumnSchema* TableSchema::text() const {
  const ColumnSchema* found = nullptr;
  for (const ColumnSchema& column : columns) {
    if (column.type != ColumnType::text || column.role == ColumnRole::left_out) continue;
    if (found == nullptr || (found->unit != TextUnit::words && column.unit == TextUnit::words)) found = &column;
  }
  return found;
}

bool TableSchema::continues_text(const ColumnSchema& column) const {
  const auto is_read_as_words = [](const ColumnSchema& other) {
    return other.type == ColumnType::text && other.role == ColumnRole::read && other.unit == TextUnit::words;
  };
  const ColumnSchema* first = text();
  return first != nullptr && first != &column && is_read_as_words(*first) && is_read_as_words(column);
}

std::map<std::string, StatedType> parse_column_types(std::string_view text) {
  std::map<std::string, StatedType> types;
  for (const std::string& part : parts_between_commas(text)) {
    const std::size_t equals = part.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("--types: \"{}\" is not COLUMN=TYPE; write for example --types price=number",
                                   escape_cell(part, kMostOddBytes)));
    }
    const std::string name = part.substr(0, equals);
    if (!types.emplace(name, parse_type(std::string_view(part).substr(equals + 1))).second) {
      throw UsageError(fmt::format("--types: column \"{}\" has two types", escape_cell(name, kMostOddBytes)));
    }
  }
  return types;
}

std::vector<std::string> parse_missing(std::string_view text) { return parts_between_commas(text); }

DecimalMark parse_decimal_mark(std::string_view text) {
  return choice_of("--decimal", text, {"comma", "point"}) == 0 ? DecimalMark::comma : DecimalMark::point;
}

ThousandsMark parse_thousands_mark(std::string_view text) {
  return static_cast<ThousandsMark>(choice_of("--thousands", text, {"none", "comma", "point", "space"}));
}

bool parse_header(std::string_view text) { return choice_of("--header", text, {"yes", "no"}) == 0; }
bool parse_default_missing(std::string_view text) { return choice_of("--default-missing", text, {"yes", "no"}) == 0; }
RowMeaning parse_row_meaning(std::string_view text) {
  return choice_of("--rows", text, {"independent", "sequence"}) == 0 ? RowMeaning::independent : RowMeaning::sequence;
}

BadRows parse_bad_rows(std::string_view text) {
  return choice_of("--bad-rows", text, {"error", "skip"}) == 0 ? BadRows::error : BadRows::skip;
}

std::string missing_option(const std::vector<std::string>& stated, const std::vector<std::string>& cells) {
  std::vector<std::string> spellings = stated;
  for (const std::string& cell : cells) {
    const bool expressible = !cell.empty() && cell.size() < kMostOddBytes && escape_cell(cell, kMostOddBytes) == cell &&
                             cell.find_first_of(",\"$`!") == std::string::npos;
    if (expressible && std::ranges::find(spellings, cell) == spellings.end()) spellings.push_back(cell);
  }
  if (spellings.size() == stated.size()) return {};
  return fmt::format("--missing \"{}\"", fmt::join(spellings, ","));
}

std::vector<std::string> bad_places(const TableSchema& schema) {
  constexpr std::size_t kMostPlaces = 10, kPlaceBytes = 40;
  std::vector<std::pair<Index, std::string>> places;
  for (const RaggedRow& row : schema.ragged_rows)
    places.emplace_back(row.line,
                        fmt::format("line {}: {} cells instead of {}", row.line, row.cells, schema.columns.size()));
  for (const Index line : schema.misplaced_quotes.lines)
    places.emplace_back(line, fmt::format("line {}: text after a closing quote", line));
  for (const ColumnSchema& column : schema.columns) {
    if (!is_used(column)) continue;
    for (const OddCell& cell : column.odd_cells)
      places.emplace_back(cell.line,
                          fmt::format("line {}, column {}: \"{}\"", cell.line, escape_cell(column.name, kPlaceBytes),
                                      escape_cell(cell.text, kPlaceBytes)));
  }
  std::ranges::stable_sort(places, {}, &std::pair<Index, std::string>::first);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) texts.push_back(std::move(places[i].second));
  return texts;
}

void require_regular(const TableSchema& schema, BadRows bad_rows) {
  if (schema.unclosed_quote > 0) {
    throw DataError(fmt::format("{}: line {}: a quote is not closed; close it, or double the quotes inside a cell",
                                schema.source, schema.unclosed_quote));
  }
  if (schema.blank_separated > 0) {
    throw DataError(fmt::format(
        "{}: the rows have {} values separated by blanks, but a table has commas, semicolons or tabs "
        "between its cells; replace the blanks, use --format columns (one position per line), or --types "
        "{}=text if the rows are text",
        schema.source, schema.blank_separated, shell_argument(escape_cell(schema.columns[0].name, kMostOddBytes))));
  }
  if (schema.misplaced_quotes.count > 0)
    refuse_table(schema, fmt::format("line {}: there is text after a closing quote; double the quotes inside a cell",
                                     schema.misplaced_quotes.lines[0]));
  if (bad_rows == BadRows::skip) return;
  if (schema.ragged.count > 0) {
    const RaggedRow& row = schema.ragged_rows[0];
    const bool above = row.line < schema.first_line && row.cells < static_cast<Index>(schema.columns.size());
    if (above)
      refuse_table(
          schema,
          fmt::format("line {}: {} cells separated by {}, but the rows from line {} on have {}; if this line "
                      "is not part of the table, skip it with --comment and a text that only this line begins "
                      "with, or with --bad-rows skip",
                      row.line, row.cells, separator_name(schema.separator), schema.first_line, schema.columns.size()));
    refuse_table(schema, fmt::format("line {}: {} cells separated by {}, but line {} has {}; put a cell that contains "
                                     "the separator in quotes, skip lines with --comment PREFIX, or use --bad-rows "
                                     "skip to leave such rows out",
                                     row.line, row.cells, separator_name(schema.separator), schema.first_line,
                                     schema.columns.size()));
  }
  for (const ColumnSchema& column : schema.columns)
    if (is_used(column)) refuse_odd_cell(schema, column);
}

}  // namespace unfold
