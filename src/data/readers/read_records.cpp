/// The format `records`: one JSON object per line, each a row of a table. All values are strings, numbers, true, false
/// or null; keys are columns. The schema decides how columns are read, as for the format `table`.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "data/readers/json_lines.h"
#include "data/readers/memory_data.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// The values of one key. A column with numbers and strings becomes a column of strings in which numbers are
/// recognized, like a column of a file.
class RecordColumn {
 public:
  explicit RecordColumn(std::string name) : name_(std::move(name)) {}

  void pad(Index rows) {
    while (static_cast<Index>(values_.size()) < rows) values_.emplace_back();
  }
  void add(const nlohmann::json& value) {
    values_.push_back(value);
    if (value.is_null()) return;
    numbers_ += value.is_number() ? 1 : 0;
    inexact_ += is_inexact_integer(value) ? 1 : 0;
    booleans_ += value.is_boolean() ? 1 : 0;
    ++present_;
  }

  ExampleColumn take() const {
    ExampleColumn column{.name = name_};
    const bool numbers = numbers_ == present_ && inexact_ == 0 && present_ > 0;
    column.width = numbers ? 1 : 0;
    for (const nlohmann::json& value : values_) {
      if (numbers)
        column.numbers.push_back(value.is_null() ? 0 : value.get<double>());
      else
        column.texts.push_back(value.is_null() ? std::string() : json_text(value));
      mark_entry(column, value.is_null());
    }
    column.integers = !numbers && present_ > 0 && (numbers_ > 0 || booleans_ == present_);
    return column;
  }

 private:
  std::string name_;
  std::vector<nlohmann::json> values_;
  Index present_ = 0, numbers_ = 0, inexact_ = 0, booleans_ = 0;
};

Examples read_records(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  Examples examples = text.no_examples();
  std::vector<RecordColumn> columns;
  std::map<std::string, std::size_t, std::less<>> places;
  for (ReaderLines lines(text.text()); lines.next();) {
    if (without_blanks(lines.line()).empty()) continue;
    const auto object = object_in_line(text.source(), lines.line(), lines.number());
    for (const auto& [key, value] : object.items()) {
      if (value.is_structured())
        throw_data_error(text.source(), lines.number(),
                         fmt::format("\"{}\" is a list or an object, but a row has strings, numbers, true, false and "
                                     "null; --format jsonl reads lists",
                                     key));
      const auto [place, is_new] = places.try_emplace(key, columns.size());
      if (is_new) columns.emplace_back(key);
      columns[place->second].pad(static_cast<Index>(examples.lines.size()));
      columns[place->second].add(value);
    }
    examples.lines.push_back(lines.number());
  }
  const auto rows = static_cast<Index>(examples.lines.size());
  if (rows == 0) return examples;
  for (RecordColumn& column : columns) {
    column.pad(rows);
    examples.columns.push_back(column.take());
  }
  examples.ends = {rows};
  return table_of_columns(std::move(examples), options);
}

std::string guess_records(const DataSample& sample) {
  constexpr Index kLinesToSee = 20;
  Index seen = 0;
  for (const std::string_view line : sample.lines) {
    if (without_blanks(line).empty()) continue;
    if (!without_blanks(line).starts_with('{')) return {};
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (object.is_discarded() || !is_record(object)) return {};
    if (++seen == kLinesToSee) break;
  }
  return seen > 0 ? "one JSON object per line, each a row of a table" : "";
}

}  // namespace

ReaderEntry records_reader() {
  return {.name = "records",
          .help = "one JSON object per line without lists, each a row of a table",
          .guess = guess_records,
          .read = read_records,
          .has_sequence_column = true};
}

}  // namespace unfold
