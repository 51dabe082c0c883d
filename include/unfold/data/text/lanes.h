#pragma once
/// Lanes: parallel readers of items of different lengths, window by window. A lane that has finished an item continues
/// with its next one in the same window, so all windows are full and every position has the same weight.

#include <span>
#include <vector>

#include "unfold/data/text/batch.h"

namespace unfold {

class Lanes {
 public:
  /// The part of an item that a window reads, as one chain.
  struct Stretch {
    std::size_t lane, item;
    Index first, length;
  };

  Lanes() = default;
  explicit Lanes(std::vector<std::vector<Index>> lengths);  ///< lengths of the items of each lane, in order

  /// Returns the segments of the next `window` positions of every lane. The slots of `carry` carry the state of a lane:
  /// the first chain of a window continues where the last chain of the previous window ended, or starts from the
  /// initial state if an item begins. Returns false at the end.
  bool next(Index window, std::vector<Stretch>& stretches, Carry& carry);
  void skip(Index positions);         ///< advances as if this many positions of every lane had been read
  Index windows(Index window) const;  ///< total, from the beginning
  Index count() const { return static_cast<Index>(lengths_.size()); }

 private:
  struct Cursor {
    std::size_t item = 0;
    Index offset = 0;  ///< positions of the item already read
  };
  /// Advances by at most `most` positions within an item and returns how many. REQUIRES an item.
  Index advance(std::size_t lane, Index most);
  bool has_item(std::size_t lane) const { return cursors_[lane].item < lengths_[lane].size(); }

  std::vector<std::vector<Index>> lengths_;
  std::vector<Cursor> cursors_;
};

/// Distributes items of the given lengths over at most `lanes` lanes, the longest first, each to the lane with the
/// smallest load, so that all lanes end at about the same time. Returns the indices of the items of each lane, the
/// longest first.
std::vector<std::vector<Index>> deal(std::span<const Index> lengths, Index lanes);

}  // namespace unfold
