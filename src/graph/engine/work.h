#pragma once
/// The part of an item that one thread processes, and the ways to divide the work of a segment. Internal to engine/.

#include "unfold/base/threads/team.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// Some rows of one step (or of consecutive steps with equal shifts) of one item, for one thread.
struct Work {
  Member* member;
  Index step;  ///< step of the first row
  Range rows;
  bool by_columns;  ///< all threads have the same rows and divide the columns instead
  /// If not 0: the columns form blocks of this many columns, and a thread owns the same whole panels of every block.
  Index unit = 0;

  /// Returns this thread's part of the n columns of an element-wise map (with `unit`, n is one block: all maps have
  /// this width).
  Range columns(Index n, Index grain) const {
    return !by_columns ? Range{0, n} : member->share(n, unit > 0 ? kUnitGrain : grain);
  }
  /// Returns this thread's panels of the n columns of a product.
  Panels panels(Index n, Index panel) const {
    const Index count = ((unit > 0 ? unit : n) + panel - 1) / panel;
    if (!by_columns) return {0, (n + panel - 1) / panel};
    if (unit == 0) return member->share(count);
    const Range mine = member->share(unit, kUnitGrain);
    return {{mine.begin / panel, mine.end / panel}, n / unit, count};
  }
  static constexpr Index kUnitGrain = 32;  ///< a multiple of every panel width
};

/// How the threads of a team divide a segment. The results are bit-identical either way.
enum class Division : unsigned char {
  rows,     ///< threads own rows (in a loop: sequences) and need no synchronization inside the segment
  columns,  ///< threads own columns and synchronize after every item
  units,    ///< threads own units, the same columns of every block, and synchronize only before products (loops only)
  /// The first thread does all the work (loops only). Useful if threads share a processor and cannot synchronize often.
  alone
};
inline bool by_columns(Division how) { return how == Division::columns || how == Division::units; }

}  // namespace unfold
