#include "data/schema/inference/table_cells.h"

#include <algorithm>

namespace unfold {
namespace {

constexpr Index kRowsToMeasure = 1000;  ///< rows whose mean length is used to estimate the total number of rows
constexpr double kMargin = 1.05;

}  // namespace

/// Reserves memory for all rows, so that it need not be copied when it grows.
void TableCells::reserve() {
  const std::uint64_t last = places_.data()[at(rows()) * numbers_.size() - 1];
  const std::uint64_t read = std::max<std::uint64_t>(last >> kSizeBits, 1);
  if (read > bytes_.size()) return;  // the last cell is elsewhere
  const double rows =
      static_cast<double>(lines_.size()) * static_cast<double>(bytes_.size()) / static_cast<double>(read);
  const auto expected = static_cast<std::size_t>(rows * kMargin) + 1;
  lines_.reserve(expected);
  places_.reserve(expected * numbers_.size());
  use_large_pages(lines_);
  for (Numbers& numbers : numbers_) {
    if (!numbers.complete) continue;
    numbers.values.reserve(expected);
    use_large_pages(numbers.values);
  }
}

std::uint64_t TableCells::place_elsewhere(std::string_view cell) {
  if (cell.empty()) return 0;
  elsewhere_.emplace_back(cell);
  return kElsewhere | (elsewhere_.size() - 1);
}

void TableCells::add_row(const std::vector<std::string_view>& cells, Index line) {
  const std::size_t size = at(rows()) * numbers_.size();
  if (size + cells.size() > places_.capacity()) places_.grow(size + cells.size());
  std::uint64_t* place = places_.data() + size;
  for (const std::string_view cell : cells) *place++ = place_of(cell);
  lines_.push_back(line);
  if (rows() == kRowsToMeasure) reserve();
}

void TableCells::add_numbers(const std::vector<std::string_view>& cells, const std::vector<ColumnProfile>& profiles) {
  const std::string_view* cell = cells.data();
  const ColumnProfile* profile = profiles.data();
  for (Numbers& numbers : numbers_) {
    if (numbers.complete) add_number(*cell, *profile, numbers);
    ++cell;
    ++profile;
  }
}

inline void TableCells::add_number(std::string_view cell, const ColumnProfile& profile, Numbers& numbers) {
  const NumberShape shape = profile.last_shape();
  const bool simple = shape == NumberShape::integer || shape == NumberShape::point || shape == NumberShape::point_three;
  if (simple && numbers.missing.empty()) {
    if (numbers.plain && !profile.last_is_shortest()) numbers.plain = is_shortest_text(cell, profile.last_number());
    numbers.values.push_back(profile.last_number());
    return;
  }
  add_unusual(cell, profile, simple, numbers);
}

/// Adds a missing entry, a number after one, or an entry that is not a number.
void TableCells::add_unusual(std::string_view cell, const ColumnProfile& profile, bool simple, Numbers& numbers) {
  const bool missing = profile.last_hash() == 0;
  if (!missing && !simple) {
    numbers = {.complete = false, .plain = false};
    return;
  }
  const double value = missing ? 0 : profile.last_number();
  if (numbers.plain) numbers.plain = cell.empty() || (!missing && is_shortest_text(cell, value));
  if (missing && numbers.missing.empty()) numbers.missing.resize(numbers.values.size(), 0);
  numbers.values.push_back(value);
  if (!numbers.missing.empty() || missing) numbers.missing.push_back(missing ? 1 : 0);
}

}  // namespace unfold
