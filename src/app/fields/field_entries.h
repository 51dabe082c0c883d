#pragma once
/// Internal: formatting of entries of data with fields for output tables.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "unfold/data/examples/examples.h"

namespace unfold {

/// Formats an entry of a column as text: the numbers of a vector separated by commas; empty if it is missing.
std::string entry_text(const ExampleColumn& column, Index entry);
/// Like entry_text, as a TSV cell (escape_cell in printable.h).
std::string entry_cell(const ExampleColumn& column, Index entry);
/// Like entry_text, as JSON: a string, a number, a list of numbers, or null. Integers are written without a decimal
/// point.
nlohmann::ordered_json entry_json(const ExampleColumn& column, Index entry);
/// Returns the cell of running text that was split into the positions of an example; std::nullopt for columns with
/// other entries.
std::optional<std::string_view> whole_cell(const Examples& examples, const ExampleColumn& column, Index example);

/// Formats a predicted number with six digits, or more if the number is large relative to the standard deviation of the
/// field, in which case four digits of the deviation are shown. An unknown deviation is taken as 1.
std::string predicted_number(double value, double deviation = 1);

}  // namespace unfold
