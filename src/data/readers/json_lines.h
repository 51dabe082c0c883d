#pragma once
/// Shared functions of the readers for JSON Lines: one object per line or in one list, and values as strings.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/example_reader.h"
#include "unfold/base/types.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Iterates over the objects of a text: its nonempty lines or, if the text begins with a list, the entries of
/// that list: for (JsonObjects objects(text); objects.next();) objects.text();
class JsonObjects {
 public:
  explicit JsonObjects(std::string_view text);
  bool next();
  /// Not yet parsed; an incomplete object at the end of a list is returned as it is.
  std::string_view text() const { return object_; }
  Index line() const { return number_; }  ///< line at which the object begins, from 1

 private:
  bool next_line();
  bool next_entry();
  bool end_with(std::string_view text);
  void skip_blanks();

  std::string_view rest_, object_;
  char line_end_;
  Index line_ = 1, number_ = 0;  ///< line_: the line at the beginning of `rest_`
  bool list_ = false;
};

/// Reserves memory for a multiple of the present entries of a column.
void reserve_entries(ExampleColumn& column, double factor);

/// Returns whether a file begins with a list.
bool is_json_list(const DataSample& sample);
/// Returns the first objects of a file, at most `most`; none if the text contains anything else.
std::vector<nlohmann::json> first_objects(const DataSample& sample, Index most);

/// Parses the object in a line. Throws a DataError that names the line and the remedy.
nlohmann::json object_in_line(const std::string& source, std::string_view line, Index number);

/// Maximum depth of objects and lists within each other.
inline constexpr Index kMostJsonDepth = 8;

/// Calls use(path, value) for each member of an object and of the objects within it, whose path is "outer.inner".
/// REQUIRES an object from object_in_line, whose depth is bounded.
void for_each_member(const nlohmann::json& object,
                     const std::function<void(const std::string& path, const nlohmann::json& value)>& use);
/// Returns the note that values of objects within objects are read, of which `path` is the first; empty if there is no
/// path.
std::string note_on_nested(const std::string& source, const std::string& path);

/// Returns whether every value of an object, and of the objects within it, is a string, a number, true, false or null,
/// and the object has no running text under the key "text". Lines are then the rows of a table (format `records`) and
/// not examples with lists (format `jsonl`).
bool is_record(const nlohmann::json& object);

/// Returns the paths of the members of an object in the order in which they are written, each once.
std::vector<std::string> written_keys(std::string_view object);

/// Returns the paths of the members in the complete lines of a text, each once; lines that are not objects are ignored.
std::vector<std::string> record_keys(std::string_view text);

bool is_json_text(const nlohmann::json& value);  ///< a string, true or false
/// Returns the text of a string, true, false or a number; integers keep all their digits.
std::string json_text(const nlohmann::json& value);
/// Returns whether an integer cannot be represented exactly as a double: its magnitude exceeds 2^53.
bool is_inexact_integer(const nlohmann::json& value);

}  // namespace unfold
