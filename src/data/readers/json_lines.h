#pragma once
/// Shared functions of the readers of JSON Lines: one object per line, and values as strings.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Parses the object in a line. Throws a DataError that names the line and the remedy.
nlohmann::json object_in_line(const std::string& source, std::string_view line, Index number);

/// Returns whether every value of an object is a string, a number, true, false or null, and none is the running text of
/// the key "text". Lines are then the rows of a table (format `records`) and not examples with lists (format `jsonl`).
bool is_record(const nlohmann::json& object);

/// The keys of the objects in the complete lines of a text, each once; lines that are not objects are ignored.
std::vector<std::string> record_keys(std::string_view text);

bool is_json_text(const nlohmann::json& value);  ///< a string, true or false
/// Returns the text of a string, true, false or a number; integers keep all their digits.
std::string json_text(const nlohmann::json& value);
/// Returns whether an integer cannot be represented exactly as a double: its magnitude exceeds 2^53.
bool is_inexact_integer(const nlohmann::json& value);

}  // namespace unfold
