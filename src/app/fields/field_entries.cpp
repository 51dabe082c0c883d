#include "app/fields/field_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/printable.h"

namespace unfold {

std::string entry_text(const ExampleColumn& column, Index entry) {
  if (!column.present(entry)) return "";
  if (column.is_text()) return column.texts[at(entry)];
  const double* numbers = column.numbers.data() + entry * column.width;
  if (column.classes.empty()) return fmt::format("{}", fmt::join(std::span(numbers, at(column.width)), ","));
  std::string text;
  for (std::size_t i = 0; i < at(column.width); ++i) {
    const bool is_class = column.is_class(i) && std::isfinite(numbers[i]);
    text += i > 0 ? "," : "";
    text += is_class ? column.classes[i].at(at(static_cast<Index>(numbers[i]))) : fmt::format("{}", numbers[i]);
  }
  return text;
}

std::string entry_cell(const ExampleColumn& column, Index entry) { return escape_cell(entry_text(column, entry)); }

nlohmann::ordered_json entry_json(const ExampleColumn& column, Index entry) {
  if (!column.present(entry)) return nullptr;
  if (column.is_text()) return column.texts[at(entry)];
  const double* numbers = column.numbers.data() + entry * column.width;
  if (!column.classes.empty()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < at(column.width); ++i) {
      if (column.is_class(i) && std::isfinite(numbers[i]))
        list.push_back(column.classes[i].at(at(static_cast<Index>(numbers[i]))));
      else
        list.push_back(numbers[i]);
    }
    return list;
  }
  if (column.width == 1) return *numbers;
  return std::vector<double>(numbers, numbers + column.width);
}

}  // namespace unfold
