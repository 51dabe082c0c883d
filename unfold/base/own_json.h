#pragma once
/// JSON that Unfold itself wrote, with the keys in their order. What comes from strangers is for `parse_json`.
/// Compiling the parser takes more than a second: rooms have it from here.

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace unfold {

/// Throws ModelError: `where`, that it is no JSON.
nlohmann::ordered_json parse_own_json(std::string_view text, const std::string& where);

/// Of what a machine that went down may have cut off: `is_discarded()` then.
nlohmann::ordered_json try_own_json(std::string_view text);
/// Without the file, too.
nlohmann::ordered_json try_own_json_file(const std::string& path);

/// The text under a key of an object; empty where there is none, or something else than text: the file may have been
/// edited.
std::string text_under(const nlohmann::ordered_json& object, const char* key);

/// What a nlohmann::json::exception says, without the identifier of the library: "type must be string, but is number".
std::string json_fault(const std::exception& error);

}  // namespace unfold
