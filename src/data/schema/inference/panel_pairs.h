#pragma once
/// Finds columns that, together with the time, distinguish the rows of a panel: the firm of `firm,year,invest`, where
/// each year occurs once for each firm.
///
/// Pairs are counted while the rows are read, in bounded memory (DistinctCount): exactly up to a few thousand rows, and
/// in a sample of the pairs above that.

#include <optional>
#include <string>
#include <vector>

#include "data/counts/distinct_count.h"
#include "data/schema/inference/column_profile.h"

namespace unfold {

class PanelPairs {
 public:
  PanelPairs() = default;
  /// Chooses the columns from the first rows: the first date column, and text and integer columns. `time`: the date
  /// column, if it is known.
  PanelPairs(const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& rows,
             std::optional<std::size_t> time);

  /// Counts the cells that were added last to the profiles of all columns.
  void add(const std::vector<ColumnProfile>& profiles);

  std::optional<std::size_t> time() const { return time_; }
  /// Returns whether no two rows have the same entries in this column and the time column.
  bool are_unique(std::size_t column) const;

 private:
  struct Candidate {
    std::size_t column = 0;
    DistinctCount pairs;
  };
  std::optional<std::size_t> time_;
  std::vector<Candidate> candidates_;  ///< columns whose pairs have each occurred only once so far
};

}  // namespace unfold
