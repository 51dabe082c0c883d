#pragma once
/// Internal: entries of data with fields as tables show them.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "unfold/data/examples.h"

namespace unfold {

/// A cell of TSV: tabs and line ends are escaped.
std::string table_cell(std::string_view text);
/// An entry of a column as a cell; numbers of a vector with commas between them, nothing where it is missing.
std::string entry_text(const ExampleColumn& column, Index entry);
/// The same as JSON: a text, a number, a list of numbers, or null.
nlohmann::ordered_json entry_json(const ExampleColumn& column, Index entry);

}  // namespace unfold
