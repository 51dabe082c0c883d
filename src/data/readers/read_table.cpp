/// The format `table`: values separated by commas, semicolons, tabs or vertical bars (RFC 4180), files of one number
/// per line, and tables in memory (data/readers/table_examples.h).

#include <fmt/format.h>

#include <algorithm>

#include "data/cells/row_splitter.h"
#include "data/readers/reader_text.h"
#include "data/readers/table_examples.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/table_layout.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

Examples read_table(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  return examples_of_table(text, options);
}

/// Returns the complete lines of a sample as one text.
std::string_view complete_lines(const DataSample& sample) {
  if (sample.lines.empty()) return {};
  const std::string_view last = sample.lines.back();
  return {sample.lines[0].data(), static_cast<std::size_t>(last.data() + last.size() - sample.lines[0].data())};
}

std::string describe_table(const TableSchema& table) {
  if (table.separator == kNoCellSeparator)
    return table.header ? "a name and one number per line" : "one number per line";
  return fmt::format("{} cells separated by {} in each row, {} header", table.columns.size(),
                     separator_name(table.separator), table.header ? "with a" : "without");
}

/// Returns whether all cells of a column are plain numbers. Prose may have a comma in each line, but does not have such
/// a column.
bool has_plain_numbers(const ColumnSchema& column, char separator) {
  const bool counted = column.type == ColumnType::identifier && column.least.has_value();
  const bool numeric = column.type == ColumnType::number || column.type == ColumnType::integer;
  const bool numbers = numeric || counted || (column.type == ColumnType::category && column.class_labels);
  const bool comma = separator == ';' && column.convention.decimal == DecimalMark::comma;
  return numbers && column.odd == 0 && column.entries() > 0 && (comma || column.convention == NumberConvention{});
}

/// Returns whether the first row names columns, and a column of dates or of few categories follows. Prose with the same
/// number of commas in each line has no such column.
bool has_named_columns(const TableSchema& table) {
  constexpr Index kFewestRows = 10, kRowsPerCategory = 3;
  if (!table.header || table.columns.size() < 2 || table.rows < kFewestRows) return false;
  const auto is_name = [](const ColumnSchema& column) {
    constexpr std::size_t kLongest = 60;
    return !column.name.empty() && column.name.size() <= kLongest &&
           column.name.find_first_of(".!?\"") == std::string::npos;
  };
  return std::ranges::all_of(table.columns, is_name) &&
         std::ranges::any_of(table.columns, [&](const ColumnSchema& column) {
           return column.type == ColumnType::date ||
                  (column.type == ColumnType::category && kRowsPerCategory * column.distinct <= column.entries());
         });
}

std::string guess_table(const DataSample& sample) {
  const std::string_view text = complete_lines(sample);
  const bool named = ends_in(sample.name, {".csv", ".tsv"});
  if (text.empty()) return {};
  try {
    const TableSchema table = infer_table_schema(std::string(sample.name), text);
    if (table.separator == '\t' && !named && text.find("\n\n") != std::string_view::npos) return {};
    const bool regular = table.ragged.count == 0 && table.unclosed_quote == 0 && table.misplaced_quotes.count == 0;
    const bool numbers =
        regular && table.rows > 1 &&
        std::any_of(table.columns.begin(), table.columns.end(), [&](const ColumnSchema& column) {
          return has_plain_numbers(column, table.separator) ||
                 (column.type == ColumnType::constant && scan_number(column.examples[0]).shape != NumberShape::none);
        });
    const bool categories = regular && has_named_columns(table);
    if (numbers || categories || (named && table.rows > 0)) return describe_table(table);
  } catch (const DataError&) {  // no rows
  }
  return named ? "its name" : "";
}

}  // namespace

ReaderEntry table_reader() {
  return {.name = "table",
          .help =
              "values separated by commas, semicolons, tabs or vertical bars, with or without a header; one number per "
              "line",
          .guess = guess_table,
          .read = read_table,
          .has_sequence_column = true};
}

}  // namespace unfold
