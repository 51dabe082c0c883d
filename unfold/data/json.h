#pragma once
/// Strict reading of JSON: one value, valid UTF-8, no key twice, bounded depth.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace unfold {

/// Throws ModelError: `where`, what is wrong, at which byte.
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace unfold
