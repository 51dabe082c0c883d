#include "data/schema/inference/extreme_cells.h"

#include <algorithm>
#include <cmath>

#include "data/schema/inference/column_profile.h"

namespace unfold {

void ExtremeCells::insert_into(std::vector<Value>& values, double sign, double value, std::string_view cell,
                               Index line) {
  const auto place = std::ranges::find_if(values, [&](const Value& kept) { return sign * kept.value <= sign * value; });
  if (place != values.end() && place->value == value) {
    ++place->cells;
    return;
  }
  const auto index = place - values.begin();
  if (values.size() == kKept) {
    if (place == values.end()) return;
    values.pop_back();
  }
  values.insert(values.begin() + index,
                {.value = value, .cells = 1, .line = line, .text = std::string(beginning_of(cell, kMostOddBytes))});
}

void ExtremeCells::insert(double value, std::string_view cell, Index line) {
  if (std::isnan(value)) return;
  insert_into(least_, -1, value, cell, line);
  insert_into(most_, 1, value, cell, line);
  if (least_.size() < kKept) return;
  inner_least_ = least_.back().value;
  inner_most_ = most_.back().value;
}

/// Returns the `low` smallest and the `high` largest values, if they are far from the others.
std::optional<FarCells> ExtremeCells::far_cells(std::size_t low, std::size_t high) const {
  constexpr double kFarRepeated = 20, kFar = 50, kLarger = 5;
  const double range = most_[high].value - least_[low].value;
  if (!(range > 0)) return std::nullopt;
  FarCells found;
  const auto add = [&](const std::vector<Value>& values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) found.cells += values[i].cells;
    if (count == 0 || (found.line != 0 && std::fabs(values[0].value) <= std::fabs(most_[0].value))) return;
    found.text = values[0].text;
    found.line = values[0].line;
  };
  add(most_, high);
  add(least_, low);
  found.different = static_cast<Index>(low + high);
  const double factor = found.different == 1 && found.cells > 1 ? kFarRepeated : kFar;
  const double others = kLarger * std::max(std::fabs(least_[low].value), std::fabs(most_[high].value));
  const auto is_far = [&](double value, double nearest) {
    const bool large = std::fabs(value) > others || (value < 0 && least_[low].value >= 0);
    return large && std::fabs(value - nearest) > factor * range;
  };
  const bool above = high == 0 || is_far(most_[high - 1].value, most_[high].value);
  const bool below = low == 0 || is_far(least_[low - 1].value, least_[low].value);
  return above && below ? std::optional(found) : std::nullopt;
}

std::optional<FarCells> ExtremeCells::far(Index numbers) const {
  constexpr std::size_t kLeastOthers = 3;
  for (std::size_t count = 1; count + kLeastOthers <= most_.size(); ++count)
    for (std::size_t low = 0; low <= count; ++low) {
      const std::optional<FarCells> found = far_cells(low, count - low);
      if (!found) continue;
      const bool few = (found->different == 1 ? 2 : 20) * found->cells <= numbers;
      return few ? found : std::nullopt;
    }
  return std::nullopt;
}

}  // namespace unfold
