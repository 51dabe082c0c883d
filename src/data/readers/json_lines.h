#pragma once
/// Shared functions of the readers of JSON Lines: one object per line, and values as texts.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Parses the object in a line. Throws DataError with the line and what to write instead.
nlohmann::json object_in_line(const std::string& source, std::string_view line, Index number);

/// Whether every value of an object is a text, a number, true, false or null, and none is the running text of the key
/// "text": then lines are the rows of a table (format `records`), and not examples with lists (format `jsonl`).
bool is_record(const nlohmann::json& object);

/// The keys of the objects in the complete lines of a text, each once; lines that are not objects are ignored.
std::vector<std::string> record_keys(std::string_view text);

bool is_json_text(const nlohmann::json& value);  ///< a text, true or false
/// The text of a text, true, false or a number; whole numbers have all their digits.
std::string json_text(const nlohmann::json& value);
/// Whether a whole number has no exact value as a double: its magnitude is beyond 2^53.
bool is_inexact_integer(const nlohmann::json& value);

}  // namespace unfold
