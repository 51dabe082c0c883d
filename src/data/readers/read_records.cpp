/// The format `records`: one JSON object per line or a list of them, each a row of a table. All values are strings,
/// numbers, true, false, null, or objects of them; keys, and the paths of values in nested objects, are columns. The
/// schema decides how columns are read, as for the format `table`.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/cells/numeric_cell.h"
#include "data/readers/json_lines.h"
#include "data/readers/json_scanner.h"
#include "data/readers/memory_data.h"
#include "data/readers/reader_text.h"
#include "data/readers/table_examples.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kRowsToMeasureRecords = 1000;  ///< rows from which the number of rows is estimated

/// Returns the shortest text of a number of JSON: its text without zeros at the end of its decimals, or the value
/// formatted into `shown`.
std::string_view shortest_text(const JsonMember& number, fmt::memory_buffer& shown) {
  const std::string_view text = number.text;
  const double value = number.value;
  if (number.shortest) return text;
  std::string_view shorter = text;
  if (const std::size_t point = text.find('.'); point != std::string_view::npos) {
    shorter = text.substr(0, text.find_last_not_of('0') + 1);
    if (shorter.size() == point + 1) shorter.remove_suffix(1);
  }
  if (is_shortest_text(shorter, value)) return shorter;
  shown.clear();
  fmt::format_to(std::back_inserter(shown), "{}", value);
  return {shown.data(), shown.size()};
}

/// The values of one key. A column with numbers and strings becomes a string column in which numbers are recognized,
/// like a column of a file.
class RecordColumn {
 public:
  explicit RecordColumn(std::string name) { column_.name = std::move(name); }

  void reserve(double factor) { reserve_entries(column_, factor); }
  Index entries() const { return entries_; }
  void pad(Index rows) {
    while (entries_ < rows) add_entry(/*missing=*/true);
  }
  void add(const JsonMember& member) {
    using Kind = JsonMember::Kind;
    if (member.kind == Kind::null) return add_entry(/*missing=*/true);
    const bool number = member.kind == Kind::number;
    booleans_ += member.kind == Kind::boolean ? 1 : 0;
    numbers_ += number ? 1 : 0;
    ++present_;
    if (number && member.exact && column_.texts.empty()) {
      column_.numbers.resize(at(entries_));
      column_.numbers.push_back(member.value);
      while (column_.cells.size() < at(entries_)) column_.cells.push_back({});
      column_.cells.push_back(shortest_text(member, shown_));
      return mark();
    }
    make_texts();
    column_.texts.push_back(number && !member.integer ? shortest_text(member, shown_) : member.text);
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
    if (!column_.texts.empty()) column_.texts.push_back({});
    if (!column_.numbers.empty()) {
      column_.numbers.push_back(0);
      column_.cells.push_back({});
    }
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
    column_.texts = std::exchange(column_.cells, {});
    column_.texts.resize(at(entries_));
    column_.numbers = {};
  }

  ExampleColumn column_;
  Index entries_ = 0, present_ = 0, numbers_ = 0, booleans_ = 0;
  fmt::memory_buffer shown_;
};

class RecordsReader {
 public:
  explicit RecordsReader(const ReaderText& text) : source_(text.source()), examples_(text.no_examples()) {
    for (JsonObjects objects(text.text()); objects.next();) {
      read_object(objects.text(), objects.line());
      if (examples_.lines.size() == kRowsToMeasureRecords) reserve(text.text(), objects.text());
    }
  }

  Examples take() {
    const auto rows = static_cast<Index>(examples_.lines.size());
    if (rows == 0) return std::move(examples_);
    if (!nested_.empty()) examples_.remarks.push_back(note_on_nested(source_, nested_));
    for (RecordColumn& column : columns_) {
      column.pad(rows);
      examples_.columns.push_back(column.take());
    }
    examples_.ends = {rows};
    return std::move(examples_);
  }

 private:
  /// Reserves memory for all rows of a text, whose number is estimated from the rows up to `last`.
  void reserve(std::string_view text, std::string_view last) {
    constexpr double kMargin = 1.05;
    const auto read = static_cast<double>(last.data() + last.size() - text.data());
    const double factor = kMargin * static_cast<double>(text.size()) / read;
    for (RecordColumn& column : columns_) column.reserve(factor);
    examples_.lines.reserve(static_cast<std::size_t>(factor * static_cast<double>(examples_.lines.size())));
  }

  void read_object(std::string_view text, Index line) {
    if (!scanner_.scan(text) || has_list(scanner_.members())) {
      read_parsed(object_in_line(source_, text, line), text, line);
    } else {
      const std::vector<JsonMember>& members = scanner_.members();
      if (!scanner_.repeats_keys()) {
        places_of_members_.clear();
        places_of_members_.reserve(members.size());
        for (const JsonMember& member : members) places_of_members_.push_back(place_of(member.key));
      }
      for (std::size_t m = 0; m < members.size(); ++m) add(places_of_members_[m], members[m]);
    }
    examples_.lines.push_back(line);
  }

  static bool has_list(const std::vector<JsonMember>& members) {
    return std::ranges::any_of(members, [](const JsonMember& member) { return member.kind == JsonMember::Kind::list; });
  }

  /// Reads an object that the scanner does not accept. The members of objects within it are columns, too.
  void read_parsed(const nlohmann::json& object, std::string_view text, Index line) {
    for_each_member(object, [&](const std::string& path, const nlohmann::json& value) {
      if (value.is_array())
        throw_data_error(source_, line,
                         fmt::format("\"{}\" is a list, but a row has strings, numbers, true, false and null; --format "
                                     "jsonl reads lists",
                                     path));
      // The columns are in the order in which the keys are written; `object` is sorted by key.
      if (!places_.contains(path))
        for (const std::string& written : written_keys(text)) place_of(written);
      if (nested_.empty() && !object.contains(path)) nested_ = path;
      const std::string shown = value.is_null() ? std::string() : json_text(value);
      const std::size_t place = place_of(path);
      if (columns_[place].entries() > static_cast<Index>(examples_.lines.size()))
        throw_data_error(source_, line,
                         fmt::format("\"{}\" is a key and the path of a value in a nested object; rename one", path));
      add(place, member_of(value, shown));
    });
  }

  static JsonMember member_of(const nlohmann::json& value, std::string_view text) {
    using Kind = JsonMember::Kind;
    JsonMember member;
    member.text = text;
    member.integer = value.is_number_integer();
    member.exact = !is_inexact_integer(value);
    member.kind = value.is_null()      ? Kind::null
                  : value.is_boolean() ? Kind::boolean
                  : value.is_number()  ? Kind::number
                                       : Kind::string;
    if (value.is_number()) member.value = value.get<double>();
    return member;
  }

  /// Returns the index of the column of a key, which is created if there is none.
  std::size_t place_of(std::string_view key) {
    const auto found = places_.find(key);
    if (found != places_.end()) return found->second;
    columns_.emplace_back(std::string(key));
    return places_.emplace(key, columns_.size() - 1).first->second;
  }

  void add(std::size_t place, const JsonMember& member) {
    columns_[place].pad(static_cast<Index>(examples_.lines.size()));
    columns_[place].add(member);
  }

  const std::string& source_;
  Examples examples_;
  std::deque<RecordColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  JsonScanner scanner_;
  std::vector<std::size_t> places_of_members_;  ///< columns of the members of the last scanned object
  std::string nested_;                          ///< the first path of a value in a nested object; empty: there is none
};

Examples read_records(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  Examples examples = RecordsReader(text).take();
  if (examples.lines.empty()) return examples;
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
