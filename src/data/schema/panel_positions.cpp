#include "data/schema/panel_positions.h"

#include <charconv>

#include "data/cells/numeric_cell.h"

namespace unfold {
namespace {

constexpr std::size_t kMostPositions = 8, kMostGroups = 8;

std::optional<std::int64_t> plain_integer(std::string_view cell) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty()) return std::nullopt;
  constexpr std::int64_t kMost = std::int64_t{1} << 52;
  if (value < -kMost || value > kMost) return std::nullopt;
  return value;
}

bool can_be_group(std::string_view cell) {
  const NumberShape shape = scan_number(cell).shape;
  return !cell.empty() &&
         (shape == NumberShape::none || shape == NumberShape::integer || shape == NumberShape::leading_zero);
}

template <class Fits>
std::vector<std::size_t> columns_where(const std::vector<std::vector<std::string>>& rows, std::size_t columns,
                                       std::size_t most, const Fits& fits) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < columns && found.size() < most; ++c) {
    bool all = false;
    for (const std::vector<std::string>& row : rows) {
      if (row.size() != columns) continue;
      all = fits(row[c]);
      if (!all) break;
    }
    if (all) found.push_back(c);
  }
  return found;
}

}  // namespace

PanelPositions::PanelPositions(const std::vector<std::string>& names,
                               const std::vector<std::vector<std::string>>& rows) {
  const auto orders = columns_where(rows, names.size(), kMostPositions,
                                    [](const std::string& cell) { return plain_integer(cell).has_value(); });
  const auto groups = columns_where(rows, names.size(), kMostGroups, can_be_group);
  for (const std::size_t order : orders)
    for (const std::size_t group : groups)
      if (order != group) candidates_.push_back({.order = order, .group = group});
}

/// Returns whether the row fits the rows before it.
bool PanelPositions::extend(Candidate& candidate, std::uint64_t series, std::int64_t number) {
  const auto [place, is_new] = candidate.last.try_emplace(series, number);
  if (candidate.rows++ == 0) candidate.first = number;
  if (is_new) {
    candidate.repeats_first = candidate.repeats_first || (candidate.rows > 1 && number == candidate.first);
    return candidate.last.size() <= kMostSeries;
  }
  const std::int64_t step = number - place->second;
  if (candidate.step == 0) candidate.step = step;
  place->second = number;
  return step > 0 && step == candidate.step;
}

void PanelPositions::add(const std::vector<std::string_view>& cells, const std::vector<ColumnProfile>& profiles) {
  std::erase_if(candidates_, [&](Candidate& candidate) {
    const std::optional<std::int64_t> number = plain_integer(cells[candidate.order]);
    const std::uint64_t series = profiles[candidate.group].last_hash();
    return !number || series == 0 || !extend(candidate, series, *number);
  });
}

std::vector<PanelPositions::Pair> PanelPositions::pairs() const {
  std::vector<Pair> result;
  for (const Candidate& candidate : candidates_) {
    const auto series = static_cast<Index>(candidate.last.size());
    if (candidate.step == 0 || !candidate.repeats_first || candidate.rows < 2 * series) continue;
    result.push_back({.order = candidate.order, .group = candidate.group, .series = series, .rows = candidate.rows});
  }
  return result;
}

}  // namespace unfold
