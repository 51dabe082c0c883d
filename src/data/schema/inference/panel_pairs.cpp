#include "data/schema/inference/panel_pairs.h"

#include <algorithm>

#include "data/cells/date_cell.h"
#include "data/cells/date_scan.h"
#include "data/cells/numeric_cell.h"
#include "data/schema/column_names.h"
#include "data/schema/missing_cells.h"

namespace unfold {
namespace {

constexpr Index kMostPairs = 4096;
constexpr std::size_t kMostCandidates = 8;

/// Calls `fits` for the entries of a column in the first rows; returns whether there are any and all fit.
template <class Fits>
bool all_entries(const std::vector<std::vector<std::string>>& rows, std::size_t column, std::size_t columns,
                 const Fits& fits) {
  Index entries = 0;
  for (const std::vector<std::string>& row : rows) {
    if (row.size() != columns || row[column].empty() || missing_spelling(row[column]) != MissingSpelling::none)
      continue;
    if (!fits(row[column])) return false;
    ++entries;
  }
  return entries > 0;
}

bool is_date_entry(const std::string& cell, bool by_name) {
  const DateScan::Shape shape = scan_date(cell).shape;
  if (shape != DateScan::Shape::none) return shape != DateScan::Shape::time_of_day;
  return by_name && (scan_short_date(cell).shape != DateScan::Shape::none || parse_date(cell, DateFormat::year) ||
                     parse_date(cell, DateFormat::compact) || parse_date(cell, DateFormat::compact_month));
}

bool is_group_entry(const std::string& cell) {
  const NumberShape shape = scan_number(cell).shape;
  return shape == NumberShape::none || shape == NumberShape::integer || shape == NumberShape::leading_zero;
}

}  // namespace

PanelPairs::PanelPairs(const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& rows,
                       std::optional<std::size_t> time)
    : time_(time) {
  const auto holds = [&](std::size_t column, const auto& fits) {
    return all_entries(rows, column, names.size(), fits);
  };
  for (std::size_t c = 0; c < names.size() && !time_; ++c)
    if (holds(c, [&](const std::string& cell) { return is_date_entry(cell, is_date_name(names[c])); })) time_ = c;
  if (!time_) return;
  for (std::size_t c = 0; c < names.size() && candidates_.size() < kMostCandidates; ++c)
    if (c != *time_ && holds(c, is_group_entry))
      candidates_.push_back({.column = c, .pairs = DistinctCount(kMostPairs)});
}

void PanelPairs::add(const std::vector<ColumnProfile>& profiles) {
  if (!time_) return;
  const std::uint64_t time = profiles[*time_].last_hash();
  bool repeats = false;
  for (Candidate& candidate : candidates_) {
    candidate.pairs.add(hash_of_pair(time, profiles[candidate.column].last_hash()));
    repeats = repeats || candidate.pairs.repeats() > 0;
  }
  if (repeats) std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.pairs.repeats() > 0; });
}

bool PanelPairs::are_unique(std::size_t column) const {
  return std::ranges::any_of(candidates_, [&](const Candidate& candidate) { return candidate.column == column; });
}

}  // namespace unfold
