#pragma once
/// Finds integer columns that count the rows of each series of a panel: the day of `shop,day,sales`, where each shop
/// has the days 1, 2, 3, ...
///
/// Pairs of an integer column and a group column are checked while the rows are read. A pair is dropped at the first
/// row that contradicts it, so that few pairs are checked for long, and if it has more than kMostSeries groups.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/schema/inference/column_profile.h"
#include "unfold/base/raw_memory.h"

namespace unfold {

class PanelPositions {
 public:
  static constexpr std::size_t kMostSeries = 1 << 16;

  PanelPositions() = default;
  /// Chooses the pairs from the first rows. Their group column contains text or integers.
  PanelPositions(const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& rows);

  /// Begins to load what `add` needs for a row whose cells have been added to the profiles of all columns.
  void prefetch(const std::vector<ColumnProfile>& profiles) const {
    for (const Candidate& candidate : candidates_) candidate.last.prefetch(profiles[candidate.group].last_hash());
  }
  /// Adds a row with these cells, which have been added to the profiles of all columns.
  void add(const std::vector<std::string_view>& cells, const std::vector<ColumnProfile>& profiles);

  /// A column and the column whose values it counts.
  struct Pair {
    std::size_t order = 0, group = 0;
    Index series = 0, rows = 0;
  };
  /// Returns the pairs for which the column increases by the same step within all series, which have at least two rows
  /// on average, and starts again in at least one of them.
  std::vector<Pair> pairs() const;

 private:
  /// The number in the last row of each series: a hash table with open addressing. Its slots have four bytes, so that
  /// the tables of several candidates fit into the cache; the entries follow each other in the order of their series.
  class LastNumbers {
   public:
    /// Returns the number of a series, and whether the series is new; then the number must be set. The reference is
    /// valid until the next call.
    std::pair<std::int64_t&, bool> of(std::uint64_t series);
    void prefetch(std::uint64_t series) const {
      if (!slots_.empty()) __builtin_prefetch(&slots_[series & (slots_.size() - 1)], /*rw=*/1);
    }
    std::size_t size() const { return size_; }

   private:
    struct Entry {
      std::uint64_t series;
      std::int64_t number;
    };
    /// A slot contains the place of an entry, from 1, and the highest bits of its series; 0: free.
    static constexpr int kPlaceBits = 17, kSeriesBits = 32 - kPlaceBits;
    static constexpr std::uint32_t kPlaces = (std::uint32_t{1} << kPlaceBits) - 1;
    static_assert(kMostSeries + 1 <= kPlaces);
    static std::uint32_t slot_of(std::uint64_t series, std::size_t place) {
      return static_cast<std::uint32_t>(series >> (64 - kSeriesBits)) << kPlaceBits | static_cast<std::uint32_t>(place);
    }
    std::size_t free_slot(std::uint64_t series) const;
    void grow();

    std::vector<std::uint32_t> slots_;
    RawMemory<Entry> entries_;
    std::size_t size_ = 0;
  };

  struct Candidate {
    std::size_t order = 0, group = 0;
    std::int64_t step = 0;  ///< 0: not known
    std::int64_t first = 0;
    bool repeats_first = false;  ///< several series begin with the same number
    bool fits = true;            ///< no row contradicts the pair
    Index rows = 0;
    LastNumbers last = {};
  };
  static bool extend(Candidate& candidate, std::uint64_t series, std::int64_t number);

  std::vector<Candidate> candidates_;
};

}  // namespace unfold
