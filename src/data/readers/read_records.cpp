/// The format `records`: one JSON object per line or a list of them, each a row of a table. All values are strings,
/// numbers, true, false or null; keys are columns. The schema decides how columns are read, as for the format `table`.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "data/readers/json_lines.h"
#include "data/readers/memory_data.h"
#include "data/readers/reader_text.h"
#include "data/readers/table_examples.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// The values of one key. A column with numbers and strings becomes a string column in which numbers are recognized,
/// like a column of a file.
class RecordColumn {
 public:
  explicit RecordColumn(std::string name) { column_.name = std::move(name); }

  void pad(Index rows) {
    while (entries_ < rows) add_entry(/*missing=*/true);
  }
  void add(const nlohmann::json& value) {
    if (value.is_null()) return add_entry(/*missing=*/true);
    booleans_ += value.is_boolean() ? 1 : 0;
    ++present_;
    if (value.is_number() && !is_inexact_integer(value)) {
      ++numbers_;
      if (column_.texts.empty()) {
        column_.numbers.resize(at(entries_));
        column_.numbers.push_back(value.get<double>());
        return mark();
      }
    } else {
      numbers_ += value.is_number() ? 1 : 0;
    }
    make_texts();
    column_.texts.push_back(json_text(value));
    mark();
  }

  ExampleColumn take() {
    if (column_.texts.empty() && numbers_ == 0) make_texts();
    column_.width = column_.texts.empty() ? 1 : 0;
    column_.integers = column_.is_text() && present_ > 0 && (numbers_ > 0 || booleans_ == present_);
    return std::move(column_);
  }

 private:
  /// Adds an entry without a value.
  void add_entry(bool missing) {
    if (!column_.texts.empty()) column_.texts.emplace_back();
    if (!column_.numbers.empty()) column_.numbers.push_back(0);
    mark(missing);
  }
  void mark(bool missing = false) {
    if (missing && column_.missing.empty()) column_.missing.resize(at(entries_));
    if (missing || !column_.missing.empty()) column_.missing.push_back(missing ? 1 : 0);
    ++entries_;
  }
  /// Converts the entries so far to strings.
  void make_texts() {
    if (!column_.texts.empty()) return;
    column_.texts.resize(at(entries_));
    for (std::size_t e = 0; e < column_.numbers.size(); ++e)
      if (column_.present(static_cast<Index>(e))) column_.texts[e] = fmt::format("{}", column_.numbers[e]);
    column_.numbers = {};
  }

  ExampleColumn column_;
  Index entries_ = 0, present_ = 0, numbers_ = 0, booleans_ = 0;
};

Examples read_records(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  Examples examples = text.no_examples();
  std::vector<RecordColumn> columns;
  std::map<std::string, std::size_t, std::less<>> places;
  // The columns are in the order in which the keys are written; `object` is sorted by key.
  const auto add_columns = [&](std::string_view written) {
    for (const std::string& key : written_keys(written))
      if (places.try_emplace(key, columns.size()).second) columns.emplace_back(key);
  };
  for (JsonObjects objects(text.text()); objects.next();) {
    const auto object = object_in_line(text.source(), objects.text(), objects.line());
    for (const auto& [key, value] : object.items()) {
      if (value.is_structured())
        throw_data_error(text.source(), objects.line(),
                         fmt::format("\"{}\" is a list or an object, but a row has strings, numbers, true, false and "
                                     "null; --format jsonl reads lists",
                                     key));
      auto place = places.find(key);
      if (place == places.end()) {
        add_columns(objects.text());
        place = places.find(key);
      }
      columns[place->second].pad(static_cast<Index>(examples.lines.size()));
      columns[place->second].add(value);
    }
    examples.lines.push_back(objects.line());
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
  const std::vector<nlohmann::json> objects = first_objects(sample, kLinesToSee);
  if (objects.empty() || !std::ranges::all_of(objects, is_record)) return {};
  return fmt::format("one JSON object per {}, each a row of a table",
                     is_json_list(sample) ? "entry of a list" : "line");
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
