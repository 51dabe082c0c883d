#include "data/readers/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "data/cells/numeric_cell.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/base/raw_memory.h"

namespace unfold {
namespace {

/// Parses an object again whose parsing has failed, to report the error with its line. The line is formatted only in
/// this case.
nlohmann::json parse_again(const std::string& source, std::string_view line, Index number, const JsonLimits& limits) {
  try {
    return parse_json(line, fmt::format("{}: line {}", source, number), limits);
  } catch (const ModelError& error) {
    throw DataError(
        fmt::format("{}; write one object per line or in one list, and null for missing values", error.what()));
  }
}

/// Returns the size of the object at the beginning of a text, up to its last bracket; the whole text if it is not
/// complete or not an object.
std::size_t object_size(std::string_view text) {
  Index depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth == 0) return c == '}' ? i + 1 : text.size();
  }
  return text.size();
}

/// Collects the paths of the members of an object and of the objects within it.
class PathCollector : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return see_value(); }
  bool boolean(bool) override { return see_value(); }
  bool number_integer(number_integer_t) override { return see_value(); }
  bool number_unsigned(number_unsigned_t) override { return see_value(); }
  bool number_float(number_float_t, const string_t&) override { return see_value(); }
  bool string(string_t&) override { return see_value(); }
  bool binary(binary_t&) override { return see_value(); }
  bool start_object(std::size_t) override {
    if (in_list_ > 0) return ++in_list_ > 0;
    if (!begins_.empty()) path_ += '.';
    begins_.push_back(path_.size());
    return static_cast<Index>(begins_.size()) <= kMostJsonDepth;  // bounds the lengths of the paths
  }
  bool end_object() override {
    if (in_list_ > 0) return --in_list_ > 0;
    begins_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_list_ == 0) see_value();
    return ++in_list_ > 0;
  }
  bool end_array() override { return --in_list_ >= 0; }
  bool key(string_t& name) override {
    if (in_list_ > 0) return true;
    path_.resize(begins_.back());
    path_ += name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

  std::vector<std::string> paths;

 private:
  bool see_value() {
    if (in_list_ == 0 && !begins_.empty() && seen_.insert(path_).second) paths.push_back(path_);
    return true;
  }

  std::string path_;
  std::vector<std::size_t> begins_;  ///< where the keys of the open objects begin in the path
  Index in_list_ = 0;                ///< number of open lists, and of open objects within lists
  std::set<std::string, std::less<>> seen_;
};

/// Returns whether a value, or all values of an object, are strings, numbers, true, false or null.
bool has_single_values(const nlohmann::json& value, Index depth) {
  if (!value.is_object()) return !value.is_array();
  return depth < kMostJsonDepth &&
         std::ranges::all_of(value, [&](const nlohmann::json& inner) { return has_single_values(inner, depth + 1); });
}

void visit_members(const nlohmann::json& object, const std::string& before,
                   const std::function<void(const std::string&, const nlohmann::json&)>& use) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = before + key;
    if (value.is_object())
      visit_members(value, path + ".", use);
    else
      use(path, value);
  }
}

}  // namespace

JsonObjects::JsonObjects(std::string_view text) : rest_(text), line_end_(line_end_of(text)) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '[') return;
  const std::size_t entry = text.find_first_not_of(" \t\r\n", begin + 1);
  list_ = entry != std::string_view::npos && text[entry] == '{';
  if (!list_) return;
  line_ += std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), line_end_);
  rest_.remove_prefix(begin + 1);
}

bool JsonObjects::next() { return list_ ? next_entry() : next_line(); }

bool JsonObjects::next_line() {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find(line_end_), rest_.size());
    object_ = without_blanks(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    number_ = line_++;
    if (!object_.empty()) return true;
  }
  return false;
}

void JsonObjects::skip_blanks() {
  while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_[0]) != std::string_view::npos) {
    line_ += rest_[0] == line_end_ ? 1 : 0;
    rest_.remove_prefix(1);
  }
}

bool JsonObjects::next_entry() {
  skip_blanks();
  const bool first = number_ == 0;
  number_ = line_;
  if (rest_.starts_with(']')) {
    rest_.remove_prefix(1);
    skip_blanks();
    return !rest_.empty() && end_with("text after the closing bracket of a list");
  }
  if (!first && !rest_.starts_with(',')) return end_with("a list without its closing bracket");
  if (!first) rest_.remove_prefix(1);
  skip_blanks();
  const std::size_t size = object_size(rest_);
  object_ = rest_.substr(0, size);
  number_ = line_;
  line_ += std::count(object_.begin(), object_.end(), line_end_);
  rest_.remove_prefix(size);
  return true;
}

/// Makes a text that is not an object the last one, so that the caller reports an error.
bool JsonObjects::end_with(std::string_view text) {
  object_ = text;
  rest_ = {};
  list_ = false;
  return true;
}

void reserve_entries(ExampleColumn& column, double factor) {
  const auto expected = [&](std::size_t size) { return static_cast<std::size_t>(factor * static_cast<double>(size)); };
  column.texts.reserve(expected(column.texts.size()), expected(column.texts.bytes()));
  column.cells.reserve(expected(column.cells.size()), expected(column.cells.bytes()));
  column.numbers.reserve(expected(column.numbers.size()));
  use_large_pages(column.numbers);
}

bool is_json_list(const DataSample& sample) { return without_blanks(strip_bom(sample.bytes)).starts_with('['); }

std::vector<nlohmann::json> first_objects(const DataSample& sample, Index most) {
  std::vector<nlohmann::json> objects;
  if (sample.lines.empty() && sample.bytes.find('\0') != std::string_view::npos) return {};
  const std::string_view text = strip_bom(sample.bytes);
  const std::string_view complete =
      sample.whole || text.starts_with('[') ? text : text.substr(0, text.rfind(line_end_of(text)) + 1);
  for (JsonObjects list(complete); static_cast<Index>(objects.size()) < most && list.next();) {
    if (!list.text().starts_with('{')) return {};
    nlohmann::json object = nlohmann::json::parse(in_utf8(list.text()), nullptr, /*allow_exceptions=*/false);
    const bool last = !sample.whole && list.text().data() + list.text().size() == complete.data() + complete.size();
    if (last && object.is_discarded()) break;  // the sample ends within it
    if (!object.is_object()) return {};
    objects.push_back(std::move(object));
  }
  return objects;
}

nlohmann::json object_in_line(const std::string& source, std::string_view line, Index number) {
  JsonLimits limits{.depth = kMostJsonDepth};
  limits.values = std::max<Index>(limits.values, static_cast<Index>(line.size()));
  limits.containers = std::max<Index>(limits.containers, static_cast<Index>(line.size()) / 4);
  nlohmann::json object;
  try {
    object = parse_json(line, {}, limits);
  } catch (const ModelError&) {
    object = parse_again(source, line, number, limits);
  }
  if (!object.is_object())
    throw_data_error(source, number, "not a JSON object; write one object per line: {\"x\": [1, 2]}");
  return object;
}

void for_each_member(const nlohmann::json& object,
                     const std::function<void(const std::string&, const nlohmann::json&)>& use) {
  visit_members(object, {}, use);
}

std::string note_on_nested(const std::string& source, const std::string& path) {
  if (path.empty()) return {};
  return fmt::format("{}: values in nested objects are read with the names of all keys on the way to them, such as {}",
                     source, in_quotes(path));
}

bool is_record(const nlohmann::json& object) {
  return object.is_object() && !object.empty() && has_single_values(object, 0) &&
         std::ranges::none_of(object.items(),
                              [](const auto& item) { return item.key() == "text" && item.value().is_string(); });
}

std::vector<std::string> written_keys(std::string_view object) {
  PathCollector collector;
  nlohmann::json::sax_parse(object, &collector);
  return std::move(collector.paths);
}

std::vector<std::string> record_keys(std::string_view text) {
  std::vector<std::string> keys;
  std::set<std::string, std::less<>> seen;
  for (JsonObjects objects(text); objects.next();) {
    const std::string object = in_utf8(objects.text());
    if (!object.starts_with('{') || !nlohmann::json::accept(object)) continue;
    for (std::string& key : written_keys(object))
      if (seen.insert(key).second) keys.push_back(std::move(key));
  }
  return keys;
}

bool is_json_text(const nlohmann::json& value) { return value.is_string() || value.is_boolean(); }

std::string json_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

bool is_inexact_integer(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestExactInteger);
  return value.is_number_integer() && value.get<std::int64_t>() < -kLargestExactInteger;
}

}  // namespace unfold
