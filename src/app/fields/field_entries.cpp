#include "app/fields/field_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/printable.h"
#include "data/cells/numeric_cell.h"

namespace unfold {

std::string entry_text(const ExampleColumn& column, Index entry) {
  // Text cells with several words have one entry per example.
  if (column.is_text())
    return std::string(column.cells.size() == at(column.entries()) ? column.cells[entry] : column.texts[entry]);
  if (!column.cells.empty() && column.width == 1) return std::string(column.cells[entry]);
  if (!column.present(entry)) return "";
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

namespace {

/// Returns a number as JSON: integers that a double holds exactly have no decimal point.
nlohmann::ordered_json number_json(double number) {
  constexpr double kLargestWhole = 9007199254740992;
  if (number == std::floor(number) && std::abs(number) <= kLargestWhole) return static_cast<std::int64_t>(number);
  return number;
}

/// Formats a string as JSON: integers, true and false without quotes, other strings with quotes.
nlohmann::ordered_json literal_json(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  const NumberShape shape = scan_number(text).shape;
  if (shape == NumberShape::integer) return number_json(scan_number(text).value);
  constexpr std::size_t kDigitsOfInteger = 18;  // 64-bit integers have at least as many digits
  const bool plain = shape == NumberShape::big_integer && text.size() <= kDigitsOfInteger + 1 && text[0] != '+';
  if (plain) return nlohmann::ordered_json::parse(text);
  return text;
}

}  // namespace

nlohmann::ordered_json entry_json(const ExampleColumn& column, Index entry) {
  if (!column.present(entry)) return nullptr;
  if (column.is_text() && column.integers) return literal_json(column.texts[entry]);
  if (column.is_text()) return column.texts[entry];
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
  if (column.width == 1) return number_json(*numbers);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (Index i = 0; i < column.width; ++i) list.push_back(number_json(numbers[i]));
  return list;
}

std::optional<std::string_view> whole_cell(const Examples& examples, const ExampleColumn& column, Index example) {
  const bool running = column.is_text() && !column.once && column.cells.size() == at(examples.count());
  return running ? std::optional(column.cells[example]) : std::nullopt;
}

std::string predicted_number(double value, double deviation) {
  constexpr int kUsualDigits = 6, kDigitsOfDeviation = 4, kMostDigits = 17;
  if (!std::isfinite(value) || !(deviation > 0)) return fmt::format("{:.6g}", value);
  // Exponents are taken from the decimal text; they therefore do not depend on the rounding of logarithms.
  const auto exponent = [](double x) {
    const std::string text = fmt::format("{:e}", std::abs(x));
    return std::stoi(text.substr(text.find('e') + 1));
  };
  const int digits = value == 0 ? kUsualDigits : exponent(value) - exponent(deviation) + kDigitsOfDeviation;
  return fmt::format("{:.{}g}", value, std::clamp(digits, kUsualDigits, kMostDigits));
}

}  // namespace unfold
