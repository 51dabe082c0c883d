#pragma once
/// Internal: entries of data with fields as tables show them.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "data/examples/examples.h"

namespace unfold {

/// An entry of a column as text; numbers of a vector with commas between them, nothing where it is missing.
std::string entry_text(const ExampleColumn& column, Index entry);
/// The same as a cell of TSV (escape_cell in printable.h).
std::string entry_cell(const ExampleColumn& column, Index entry);
/// The same as JSON: a text, a number, a list of numbers, or null. Whole numbers are written without a decimal point.
nlohmann::ordered_json entry_json(const ExampleColumn& column, Index entry);
/// The cell of running text that became the positions of an example; nothing if the column has other entries.
std::optional<std::string_view> whole_cell(const Examples& examples, const ExampleColumn& column, Index example);

/// A predicted number with the digits that its resolution needs: six, or more if the number is large beside the
/// deviation of the field, of which four digits are shown. An unknown deviation is 1.
std::string predicted_number(double value, double deviation = 1);

}  // namespace unfold
