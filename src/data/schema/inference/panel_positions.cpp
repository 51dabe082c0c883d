#include "data/schema/inference/panel_positions.h"

#include <algorithm>
#include <charconv>

#include "data/cells/numeric_cell.h"

namespace unfold {
namespace {

constexpr std::size_t kMostPositions = 8, kMostGroups = 8, kFewestEntries = 8;

std::optional<std::int64_t> plain_integer(std::string_view cell) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty()) return std::nullopt;
  constexpr std::int64_t kMost = std::int64_t{1} << 52;
  if (value < -kMost || value > kMost) return std::nullopt;
  return value;
}

/// Returns the integer of the cell that was added last to a profile.
std::optional<std::int64_t> integer_of(std::string_view cell, const ColumnProfile& profile) {
  if (profile.last_shape() == NumberShape::integer && profile.last_is_shortest())
    return static_cast<std::int64_t>(profile.last_number());  // has at most 15 digits
  return plain_integer(cell);
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

std::size_t PanelPositions::LastNumbers::free_slot(std::uint64_t series) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = series & mask;
  while (slots_[i] != 0) i = (i + 1) & mask;
  return i;
}

void PanelPositions::LastNumbers::grow() {
  constexpr std::size_t kFirstSlots = 16;
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), 0);
  for (std::size_t i = 0; i < size_; ++i) {
    const std::uint64_t series = entries_.data()[i].series;
    slots_[free_slot(series)] = slot_of(series, i + 1);
  }
}

std::pair<std::int64_t&, bool> PanelPositions::LastNumbers::of(std::uint64_t series) {
  if (4 * size_ >= 3 * slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  const std::uint32_t bits = slot_of(series, 0);
  std::size_t i = series & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    if ((slots_[i] & ~kPlaces) != bits) continue;
    Entry& entry = entries_.data()[(slots_[i] & kPlaces) - 1];
    if (entry.series == series) return {entry.number, false};
  }
  if (size_ == entries_.capacity()) entries_.grow(size_ + kFewestEntries);
  Entry& entry = entries_.data()[size_++];
  entry = {.series = series, .number = 0};
  slots_[i] = slot_of(series, size_);
  return {entry.number, true};
}

/// Returns whether the row fits the rows before it.
bool PanelPositions::extend(Candidate& candidate, std::uint64_t series, std::int64_t number) {
  const auto [last, is_new] = candidate.last.of(series);
  const std::int64_t step = is_new ? 0 : number - last;
  last = number;
  if (candidate.rows++ == 0) candidate.first = number;
  if (is_new) {
    candidate.repeats_first = candidate.repeats_first || (candidate.rows > 1 && number == candidate.first);
    return candidate.last.size() <= kMostSeries;
  }
  if (candidate.step == 0) candidate.step = step;
  return step > 0 && step == candidate.step;
}

void PanelPositions::add(const std::vector<std::string_view>& cells, const std::vector<ColumnProfile>& profiles) {
  // Candidates with the same number are neighbors.
  std::size_t order = cells.size();
  std::optional<std::int64_t> number;
  bool all_fit = true;
  for (Candidate& candidate : candidates_) {
    if (candidate.order != order) number = integer_of(cells[candidate.order], profiles[candidate.order]);
    order = candidate.order;
    const std::uint64_t series = profiles[candidate.group].last_hash();
    candidate.fits = number && series != 0 && extend(candidate, series, *number);
    all_fit = all_fit && candidate.fits;
  }
  if (!all_fit) std::erase_if(candidates_, [](const Candidate& candidate) { return !candidate.fits; });
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
