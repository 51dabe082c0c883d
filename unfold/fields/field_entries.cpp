#include "unfold/fields/field_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace unfold {

std::string table_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\t')
      out += "\\t";
    else if (c == '\n')
      out += "\\n";
    else if (c != '\r')
      out += c;
  }
  return out;
}

std::string entry_text(const ExampleColumn& column, Index entry) {
  if (!column.present(entry)) return "";
  if (column.is_text()) return table_cell(column.texts[at(entry)]);
  const double* numbers = column.numbers.data() + entry * column.width;
  return fmt::format("{}", fmt::join(std::span(numbers, at(column.width)), ","));
}

nlohmann::ordered_json entry_json(const ExampleColumn& column, Index entry) {
  if (!column.present(entry)) return nullptr;
  if (column.is_text()) return column.texts[at(entry)];
  const double* numbers = column.numbers.data() + entry * column.width;
  if (column.width == 1) return *numbers;
  return std::vector<double>(numbers, numbers + column.width);
}

}  // namespace unfold
