#pragma once
/// Options as JSON: for the reference page, the manual and the keywords of the Python package.

#include <nlohmann/json_fwd.hpp>

#include "base/options/option_row.h"

namespace unfold {

/// Returns {"name", "type", "placeholder", "help", "default", "group", "common", ...}. The type is flag, integer,
/// number, string or list.
nlohmann::ordered_json to_json(const OptionRow& row);
/// Returns the listed rows as an array.
nlohmann::ordered_json to_json(const OptionRows& rows);

}  // namespace unfold
