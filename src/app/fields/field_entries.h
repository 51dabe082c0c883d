#pragma once
/// Internal: entries of data with fields as tables show them.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/examples/examples.h"

namespace unfold {

/// An entry of a column as text; numbers of a vector with commas between them, nothing where it is missing.
std::string entry_text(const ExampleColumn& column, Index entry);
/// The same as a cell of TSV (escape_cell in printable.h).
std::string entry_cell(const ExampleColumn& column, Index entry);
/// The same as JSON: a text, a number, a list of numbers, or null.
nlohmann::ordered_json entry_json(const ExampleColumn& column, Index entry);

}  // namespace unfold
