#pragma once
/// Parser for JSON that Unfold itself wrote; keeps the order of keys. Use `parse_json` for untrusted input. The parser
/// takes more than a second to compile, so it is instantiated only here.

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace unfold {

/// Throws a ModelError that gives `where` if the text is not JSON.
nlohmann::ordered_json parse_trusted_json(std::string_view text, const std::string& where);

/// For text that a crash may have truncated: returns a value with `is_discarded()` if it does not parse.
nlohmann::ordered_json try_parse_trusted_json(std::string_view text);
/// Like try_parse_trusted_json for the contents of a file; also returns a discarded value if the file does not exist.
nlohmann::ordered_json try_parse_trusted_json_file(const std::string& path);

/// Returns the string under a key of an object. Because the file may have been edited, the result is empty if the key
/// is missing or its value is not a string.
std::string text_under(const nlohmann::ordered_json& object, const char* key);

/// Returns the message of a nlohmann::json::exception without the identifier of the library: "type must be string, but
/// is number".
std::string json_fault(const std::exception& error);

}  // namespace unfold
