#pragma once
/// What a member of the team is to do of an item, and how members divide the work of a segment. Internal to engine/.

#include "unfold/base/team.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// Some rows of one step (or of a run of steps whose shifts agree) for one item, for one member of the team.
struct Work {
  Member* member;
  Index step;  ///< of the first row
  Range rows;
  bool by_columns;  ///< all members have the same rows and divide columns instead
  Index unit = 0;   ///< not 0: of every block of so many columns, members own the same part, in whole panels

  /// My part of the n columns of an element-wise map (with `unit` one block: all maps have this width).
  Range columns(Index n, Index grain) const {
    return !by_columns ? Range{0, n} : member->share(n, unit > 0 ? kUnitGrain : grain);
  }
  /// My panels of the n columns of a product.
  Panels panels(Index n, Index panel) const {
    const Index count = ((unit > 0 ? unit : n) + panel - 1) / panel;
    if (!by_columns) return {0, (n + panel - 1) / panel};
    if (unit == 0) return member->share(count);
    const Range mine = member->share(unit, kUnitGrain);
    return {{mine.begin / panel, mine.end / panel}, n / unit, count};
  }
  static constexpr Index kUnitGrain = 32;  ///< a multiple of every panel
};

/// How the members of a team divide a segment. The results have the same bits either way.
enum class Division : unsigned char {
  rows,     ///< members own rows (in a loop: sequences) and need not meet inside the segment
  columns,  ///< members own columns and meet after every item
  units,    ///< members own units: the same columns of every block; they meet before products only (loops only)
  alone     ///< the first member does everything (loops only): members that share a processor cannot meet often
};
inline bool by_columns(Division how) { return how == Division::columns || how == Division::units; }

}  // namespace unfold
