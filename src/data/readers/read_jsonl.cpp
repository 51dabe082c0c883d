/// The format `jsonl` (JSON Lines): one JSON object per line, one per example. Lists are fields with one entry per
/// position; single strings and numbers are fields with one entry per example. The members of nested objects are
/// fields, too, whose names are their paths.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "data/readers/json_lines.h"
#include "data/readers/json_scanner.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"
#include "unfold/base/raw_memory.h"

namespace unfold {
namespace {

using JsonValue = nlohmann::json;

constexpr const char* kTextKey = "text";
constexpr Index kLinesToMeasure = 1000;  ///< lines from which the size of the columns is estimated

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
  Index entries() const { return column_.entries(); }
  const std::string& name() const { return column_.name; }
  Index line() const { return line_; }  ///< line where the key first occurred

  void reserve(double factor) { reserve_entries(column_, factor); }

  void pad(Index entries) {
    while (column_.entries() < entries) add_missing();
  }
  void add_missing() {
    if (column_.is_text())
      column_.texts.push_back({});
    else
      column_.numbers.resize(column_.numbers.size() + at(column_.width), 0);
    mark_entry(column_, true);
  }
  void add_text(std::string_view text) {
    column_.texts.push_back(text);
    mark_present();
  }
  /// Adds a string, a number or a boolean, which must fit the type, or a missing entry.
  void add(const JsonMember& member) {
    if (member.kind == JsonMember::Kind::null) return add_missing();
    if (column_.is_text()) {
      booleans_ += member.kind == JsonMember::Kind::boolean ? 1 : 0;
      ++present_;
      return add_text(member.text);
    }
    if (!member.exact) inexact_.emplace(column_.entries(), member.text);
    column_.numbers.push_back(member.value);
    mark_present();
  }
  /// Adds the symbols of a text.
  void add_running_text(const TextList& symbols, bool characters) {
    column_.characters = characters;
    column_.texts.append(symbols, 0, symbols.size());
    if (!column_.missing.empty()) column_.missing.resize(column_.texts.size(), 0);
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
    while (column_.cells.size() < at(example)) column_.cells.push_back({});
    column_.cells.push_back(text);
  }

  ExampleColumn take(Index examples) {
    if (!inexact_.empty()) keep_digits();
    column_.integers = column_.integers || (present_ > 0 && booleans_ == present_);
    while (!column_.cells.empty() && column_.cells.size() < at(examples)) column_.cells.push_back({});
    return std::move(column_);
  }
  void drop_cells() { column_.cells = {}; }

 private:
  void mark_present() {
    if (!column_.missing.empty()) mark_entry(column_, false);
  }

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
  static constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

 public:
  JsonlReader(const ReaderText& text, const TextPositions& positions)
      : examples_(text.no_examples()), positions_(positions) {
    for (JsonObjects objects(text.text()); objects.next();) {
      line_ = objects.line();
      length_ = -1;
      if (scanner_.scan(objects.text()))
        read_members();
      else
        read_object(object_in_line(text.source(), objects.text(), line_));
      end_object();
      if (examples_.count() == kLinesToMeasure) reserve(text.text(), objects.text());
    }
    for (JsonField& field : fields_) field.pad(field.type().once ? examples_.count() : examples_.positions());
    require_lengths();
  }

  Examples take() {
    if (!nested_.empty()) examples_.remarks.push_back(note_on_nested(examples_.source, nested_));
    examples_.columns.reserve(fields_.size());
    for (JsonField& field : fields_) examples_.columns.push_back(field.take(examples_.count()));
    return std::move(examples_);
  }

  /// The number of running texts, and of their symbols.
  Index texts() const { return running_texts_; }
  Index symbols() const { return running_symbols_; }

 private:
  /// Reserves memory for all lines of a text, which is estimated from the lines up to `last`.
  void reserve(std::string_view text, std::string_view last) {
    constexpr double kMargin = 1.05;
    const auto read = static_cast<double>(last.data() + last.size() - text.data());
    const double factor = kMargin * static_cast<double>(text.size()) / read;
    const auto expected = [&](Index size) { return static_cast<std::size_t>(factor * static_cast<double>(size)); };
    for (JsonField& field : fields_) field.reserve(factor);
    examples_.ends.reserve(expected(examples_.count()));
    examples_.example_lines.reserve(expected(examples_.count()));
    examples_.lines.reserve(expected(examples_.positions()));
    use_large_pages(examples_.lines);
  }

  [[noreturn]] void refuse(const std::string& what) const { throw_data_error(examples_.source, line_, what); }

  /// Reads a scanned object. Like those of a parsed object, the members are read in the order of their keys.
  void read_members() {
    const std::vector<JsonMember>& members = scanner_.members();
    if (!scanner_.repeats_keys()) {
      by_key_.resize(members.size());
      std::iota(by_key_.begin(), by_key_.end(), std::size_t{0});
      std::ranges::sort(by_key_, {}, [&](std::size_t m) { return members[m].key; });
      places_of_members_.assign(members.size(), kNoPlace);
    }
    for (const std::size_t m : by_key_) read_member(members[m], places_of_members_[m]);
  }

  /// `place`: the place of the field of the member, if it is known.
  void read_member(const JsonMember& member, std::size_t& place) {
    if (member.kind == JsonMember::Kind::null) return;
    if (member.kind == JsonMember::Kind::list) return read_list(member, place);
    if (member.kind == JsonMember::Kind::string && member.key == kTextKey) return read_text(member.text, place);
    JsonField& field =
        field_of(member.key, {.once = true, .width = member.kind == JsonMember::Kind::number ? 1 : 0}, place);
    field.pad(examples_.count());
    field.add(member);
  }

  void read_list(const JsonMember& list, std::size_t& place) {
    const std::span<const JsonMember> entries = scanner_.entries(list);
    set_length(list.key, static_cast<Index>(entries.size()));
    const auto first =
        std::ranges::find_if(entries, [](const JsonMember& e) { return e.kind != JsonMember::Kind::null; });
    if (first == entries.end()) return;
    JsonField& field =
        field_of(list.key, {.once = false, .width = first->kind == JsonMember::Kind::number ? 1 : 0}, place);
    field.pad(examples_.positions());
    for (const JsonMember& entry : entries) field.add(entry);
    drop_cells_of_lists(list.key, field);
  }
  /// A text in lists of words has no single text per example.
  void drop_cells_of_lists(std::string_view key, JsonField& field) {
    if (key == kTextKey && !std::exchange(text_lists_, true)) field.drop_cells();
  }

  void read_object(const JsonValue& object) {
    for_each_member(object, [&](const std::string& path, const JsonValue& value) {
      std::size_t place = kNoPlace;
      if (nested_.empty() && !object.contains(path)) nested_ = path;
      if (path == kTextKey && value.is_string())
        read_text(value.get_ref<const std::string&>(), place);
      else
        read_value(path, value, place);
    });
  }

  void end_object() {
    // Tables of single values have one position per row. If other lines have lists, the list of this line is missing.
    if (length_ < 0 && first_without_list_ == 0) first_without_list_ = line_;
    examples_.ends.push_back(examples_.positions() + (length_ < 0 ? 1 : length_));
    examples_.lines.resize(at(examples_.positions()), line_);
    examples_.example_lines.push_back(line_);
  }

  void read_text(std::string_view text, std::size_t& place) {
    symbols_.clear();
    positions_.append(text, symbols_);
    ++running_texts_;
    running_symbols_ += static_cast<Index>(symbols_.size());
    set_length(kTextKey, static_cast<Index>(symbols_.size()));
    JsonField& field = field_of(kTextKey, {}, place);
    field.pad(examples_.positions());
    field.add_running_text(symbols_, positions_.characters());
    if (!text_lists_) field.add_cell(text, examples_.count());
  }

  void read_value(const std::string& key, const JsonValue& value, std::size_t& place) {
    if (value.is_array()) {
      set_length(key, static_cast<Index>(value.size()));
      if (std::all_of(value.begin(), value.end(), [](const JsonValue& entry) { return entry.is_null(); })) return;
      JsonField& field = field_of(key, {.once = false, .width = width_of_list(key, value)}, place);
      pad(field, examples_.positions());
      for (const JsonValue& entry : value) field.add(entry);
      drop_cells_of_lists(key, field);
    } else if (!value.is_null()) {
      const Index width = width_of(key, value);
      JsonField& field = field_of(key, {.once = true, .width = width}, place);
      pad(field, examples_.count());
      field.add(value);
    }
  }

  /// Adds the entries that earlier examples do not have. Throws DataError if this example has entries already.
  void pad(JsonField& field, Index entries) const {
    if (field.entries() > entries)
      refuse(fmt::format("\"{}\" is a key and the path of a value in a nested object; rename one", field.name()));
    field.pad(entries);
  }

  /// All lists of an example must have the length of the first one.
  void set_length(std::string_view key, Index length) {
    if (length == 0) refuse(fmt::format("\"{}\" is empty; remove this example", key));
    if (length_ >= 0 && length != length_) {
      refuse(fmt::format(
          "\"{0}\" has {1} entries, but \"{2}\" has {3}; the lists of an example must have the same length: "
          "leave one of them out, or write it as one string",
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
    if (value.is_object() && !value.empty())
      refuse(
          fmt::format("\"{0}\" is a list of objects; write one list for each of their keys, for example with jq -c "
                      "'.\"{0}.{1}\" = [.\"{0}\"[].\"{1}\"] | del(.\"{0}\")'",
                      key, value.items().begin().key()));
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

  /// `place`: the place of the field, or kNoPlace, which is replaced by it.
  JsonField& field_of(std::string_view key, const JsonType& type, std::size_t& place) {
    if (place == kNoPlace) {
      const auto [found, is_new] = places_.try_emplace(std::string(key), fields_.size());
      if (is_new) fields_.emplace_back(std::string(key), type, line_);
      place = found->second;
    }
    JsonField& field = fields_[place];
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
  JsonScanner scanner_;
  std::vector<std::size_t> by_key_;             ///< the members of the last scanned object, sorted by their keys
  std::vector<std::size_t> places_of_members_;  ///< of their fields, in the order of the object; kNoPlace: not known
  Index line_ = 0, length_ = -1, first_without_list_ = 0;
  Index running_texts_ = 0, running_symbols_ = 0;
  bool text_lists_ = false;  ///< some strings are in lists of words, so examples do not have a single text
  std::string length_key_;
  std::string nested_;  ///< the first path of a value in a nested object; empty: there is none
  TextList symbols_;    ///< the symbols of a text
};

/// Returns all running texts, to detect their kind. Empty if the kind is specified or there is no running text.
std::vector<std::string> running_texts(const ReaderText& text, const ReaderOptions& options) {
  std::vector<std::string> texts;
  if (options.text_kind_set || text.text().find("\"text\"") == std::string_view::npos) return texts;
  JsonScanner scanner;
  for (JsonObjects objects(text.text()); objects.next();) {
    if (scanner.scan(objects.text())) {
      for (const JsonMember& member : scanner.members())
        if (member.key == kTextKey && member.kind == JsonMember::Kind::string) texts.emplace_back(member.text);
      continue;
    }
    JsonValue object = object_in_line(text.source(), objects.text(), objects.line());
    const auto found = object.find(kTextKey);
    if (found != object.end() && found->is_string()) texts.push_back(std::move(found->get_ref<std::string&>()));
  }
  return texts;
}

/// Reads running texts as words. Returns nothing if they must be read in a different way, or if the text has an error:
/// then the order in which errors are found must not depend on the kind of the texts.
std::optional<Examples> read_as_words(const ReaderText& text, const ReaderOptions& options) {
  if (options.text_kind_set) return {};
  const TextPositions words(SymbolKind::words);
  try {
    JsonlReader reader(text, words);
    const bool names = reader.texts() > 0 && TextPositions::are_names(reader.symbols(), reader.texts());
    if (names && text.text().find("\"text\"") != std::string_view::npos) return {};
    return reader.take();
  } catch (const DataError&) {
    return {};
  }
}

Examples read_jsonl(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  if (std::optional<Examples> examples = read_as_words(text, options)) return *std::move(examples);
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
