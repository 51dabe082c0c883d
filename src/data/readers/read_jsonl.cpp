/// The format `jsonl` (JSON Lines): one JSON object per line, one per example. Lists are fields with one entry per
/// position; single strings and numbers are fields with one entry per example.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/readers/json_lines.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using JsonValue = nlohmann::json;

constexpr const char* kTextKey = "text";

/// The type of the values of a key.
struct JsonType {
  bool once = false;
  Index width = 0;  ///< 0: strings
  bool operator==(const JsonType&) const = default;
};

std::string describe(const JsonType& type) {
  const std::string entry = type.width == 0   ? "text"
                            : type.width == 1 ? "number"
                                              : fmt::format("list of {} numbers", type.width);
  return type.once ? "one " + entry : fmt::format("a list whose entries are each a {}", entry);
}

/// A column that is being read. Entries that a line does not have are missing; they are added when the next entry
/// arrives.
class JsonField {
 public:
  JsonField(std::string name, const JsonType& type, Index line) : type_(type), line_(line) {
    column_.name = std::move(name);
    column_.once = type.once;
    column_.width = type.width;
  }
  const JsonType& type() const { return type_; }
  Index line() const { return line_; }  ///< line where the key first occurred

  void pad(Index entries) {
    while (column_.entries() < entries) add_missing();
  }
  void add_missing() {
    if (column_.is_text())
      column_.texts.emplace_back();
    else
      column_.numbers.resize(column_.numbers.size() + at(column_.width), 0);
    mark_entry(column_, true);
  }
  void add_text(std::string text) {
    column_.texts.push_back(std::move(text));
    mark_entry(column_, false);
  }
  void add_running_text(std::vector<std::string> symbols, bool characters) {
    column_.characters = characters;
    for (std::string& symbol : symbols) add_text(std::move(symbol));
  }
  void add(const JsonValue& value) {
    if (value.is_null()) return add_missing();
    if (column_.is_text()) {
      booleans_ += value.is_boolean() ? 1 : 0;
      ++present_;
      return add_text(json_text(value));
    }
    if (value.is_number()) {
      if (is_inexact_integer(value)) inexact_.emplace(column_.entries(), json_text(value));
      column_.numbers.push_back(value.get<double>());
    } else {
      for (const JsonValue& number : value) column_.numbers.push_back(number.get<double>());
    }
    mark_entry(column_, false);
  }
  /// The text of a whole example, exactly as in the line; earlier examples without one have an empty text.
  void add_cell(std::string_view text, Index example) {
    while (column_.cells.size() < example) column_.cells.add({});
    column_.cells.add(text);
  }

  ExampleColumn take(Index examples) {
    if (!inexact_.empty()) keep_digits();
    column_.integers = column_.integers || (present_ > 0 && booleans_ == present_);
    while (!column_.cells.empty() && column_.cells.size() < examples) column_.cells.add({});
    return std::move(column_);
  }
  void drop_cells() { column_.cells = {}; }

 private:
  /// Converts numbers to strings if some are integers beyond 2^53, so that all digits are kept.
  void keep_digits() {
    if (column_.width != 1) return;
    for (Index e = 0; e < column_.entries(); ++e) {
      const auto found = inexact_.find(e);
      column_.texts.push_back(!column_.present(e)       ? std::string()
                              : found != inexact_.end() ? found->second
                                                        : fmt::format("{}", column_.numbers[at(e)]));
    }
    column_.numbers.clear();
    column_.width = 0;
    column_.integers = true;
  }

  ExampleColumn column_;
  std::map<Index, std::string> inexact_;  ///< integers beyond 2^53, by entry
  Index booleans_ = 0, present_ = 0;
  JsonType type_;
  Index line_;
};

class JsonlReader {
 public:
  JsonlReader(const ReaderText& text, const TextPositions& positions)
      : examples_(text.no_examples()), positions_(positions) {
    for (JsonObjects objects(text.text()); objects.next();) {
      line_ = objects.line();
      read_object(object_in_line(text.source(), objects.text(), line_));
    }
    for (JsonField& field : fields_) field.pad(field.type().once ? examples_.count() : examples_.positions());
    require_lengths();
  }

  Examples take() {
    examples_.columns.reserve(fields_.size());
    for (JsonField& field : fields_) examples_.columns.push_back(field.take(examples_.count()));
    return std::move(examples_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw_data_error(examples_.source, line_, what); }

  void read_object(const JsonValue& object) {
    length_ = -1;
    for (const auto& [key, value] : object.items()) {
      if (key == kTextKey && value.is_string())
        read_text(value.get_ref<const std::string&>());
      else
        read_value(key, value);
    }
    // Tables of single values have one position per row. If other lines have lists, the list of this line is missing.
    if (length_ < 0 && first_without_list_ == 0) first_without_list_ = line_;
    examples_.ends.push_back(examples_.positions() + (length_ < 0 ? 1 : length_));
    examples_.lines.resize(at(examples_.positions()), line_);
    examples_.example_lines.push_back(line_);
  }

  void read_text(const std::string& text) {
    std::vector<std::string> symbols;
    positions_.append(text, symbols);
    set_length(kTextKey, static_cast<Index>(symbols.size()));
    JsonField& field = field_of(kTextKey, {});
    field.pad(examples_.positions());
    field.add_running_text(std::move(symbols), positions_.characters());
    if (!text_lists_) field.add_cell(text, examples_.count());
  }

  void read_value(const std::string& key, const JsonValue& value) {
    if (value.is_array()) {
      set_length(key, static_cast<Index>(value.size()));
      if (std::all_of(value.begin(), value.end(), [](const JsonValue& entry) { return entry.is_null(); })) return;
      JsonField& field = field_of(key, {.once = false, .width = width_of_list(key, value)});
      field.pad(examples_.positions());
      for (const JsonValue& entry : value) field.add(entry);
      if (key == kTextKey && !std::exchange(text_lists_, true)) field.drop_cells();
    } else if (!value.is_null()) {
      const Index width = width_of(key, value);
      JsonField& field = field_of(key, {.once = true, .width = width});
      field.pad(examples_.count());
      field.add(value);
    }
  }

  /// All lists of an example must have the length of the first one.
  void set_length(const std::string& key, Index length) {
    if (length == 0) refuse(fmt::format("\"{}\" is empty; remove this example", key));
    if (length_ >= 0 && length != length_) {
      refuse(fmt::format("\"{}\" has {} entries, but \"{}\" has {}; the lists of an example must have the same length",
                         length_key_, length_, key, length));
    }
    length_ = length;
    length_key_ = key;
  }

  Index width_of(const std::string& key, const JsonValue& value) const {
    if (is_json_text(value)) return 0;
    if (value.is_number()) return 1;
    if (value.is_array() && !value.empty() &&
        std::all_of(value.begin(), value.end(), [](const JsonValue& entry) { return entry.is_number(); })) {
      return static_cast<Index>(value.size());
    }
    refuse(fmt::format(
        "\"{}\" must be a string, a number, or a list of strings, numbers or lists of numbers; use null for a "
        "missing entry",
        key));
  }

  Index width_of_list(const std::string& key, const JsonValue& list) const {
    const JsonValue* first = nullptr;
    Index width = 0;
    for (const JsonValue& entry : list) {
      if (entry.is_null()) continue;
      const Index entry_width = width_of(key, entry);
      if (first == nullptr) width = entry_width;
      // Lists of one number are vectors, like longer lists, and not numbers.
      const bool same = first == nullptr || (entry_width == width && entry.is_array() == first->is_array());
      if (!same)
        refuse(fmt::format(
            "\"{}\" contains entries of different kinds or widths; use the same kind and width for all entries", key));
      first = &entry;
    }
    return width;
  }

  JsonField& field_of(const std::string& key, const JsonType& type) {
    const auto [place, is_new] = places_.try_emplace(key, fields_.size());
    if (is_new) fields_.emplace_back(key, type, line_);
    JsonField& field = fields_[place->second];
    if (field.type() == type) return field;
    refuse(fmt::format("\"{}\" is {}, but in line {} it is {}; a key must have the same kind of value in all lines",
                       key, describe(type), field.line(), describe(field.type())));
  }

  void require_lengths() {
    const auto is_list = [](const JsonField& field) { return !field.type().once; };
    if (first_without_list_ == 0 || std::none_of(fields_.begin(), fields_.end(), is_list)) return;
    line_ = first_without_list_;
    refuse("there is no list and no text, unlike in other lines, so the example is empty; remove it");
  }

  Examples examples_;
  const TextPositions& positions_;
  std::vector<JsonField> fields_;
  std::map<std::string, std::size_t, std::less<>> places_;
  Index line_ = 0, length_ = -1, first_without_list_ = 0;
  bool text_lists_ = false;  ///< some strings are in lists of words, so examples do not have a single text
  std::string length_key_;
};

/// Returns all running texts, to detect their kind. Empty if the kind is specified or there is no running text.
std::vector<std::string> running_texts(const ReaderText& text, const ReaderOptions& options) {
  std::vector<std::string> texts;
  if (options.text_kind_set || text.text().find("\"text\"") == std::string_view::npos) return texts;
  for (JsonObjects objects(text.text()); objects.next();) {
    JsonValue object = object_in_line(text.source(), objects.text(), objects.line());
    const auto found = object.find(kTextKey);
    if (found != object.end() && found->is_string()) texts.push_back(std::move(found->get_ref<std::string&>()));
  }
  return texts;
}

Examples read_jsonl(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  const std::vector<std::string> texts = running_texts(text, options);
  const TextPositions positions({texts.begin(), texts.end()}, options);
  return JsonlReader(text, positions).take();
}

std::string guess_jsonl(const DataSample& sample) {
  constexpr Index kLinesToSee = 20;
  std::string why = is_json_list(sample) ? "one JSON object per entry of a list" : "one JSON object per line";
  const std::vector<JsonValue> objects = first_objects(sample, kLinesToSee);
  if (!objects.empty())  // otherwise they are rows of a table
    return std::ranges::all_of(objects, is_record) ? std::string() : why;
  if (!sample.lines.empty()) return {};
  // An example may be longer than the sample.
  const bool named = ends_in(sample.name, {".jsonl", ".ndjson"});
  return named && without_blanks(strip_bom(sample.bytes)).starts_with('{') ? why : std::string();
}

}  // namespace

ReaderEntry jsonl_reader() {
  return {.name = "jsonl",
          .help =
              "one JSON object per line: lists are fields with one entry per position, strings and numbers are "
              "fields with one entry per example",
          .guess = guess_jsonl,
          .read = read_jsonl,
          .has_texts = true};
}

}  // namespace unfold
