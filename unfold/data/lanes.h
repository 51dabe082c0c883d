#pragma once
/// Items of many lengths read side by side, window after window: a lane that has read an item goes on with its next in
/// the same window, so that windows stay full and every position counts alike.

#include <span>
#include <vector>

#include "unfold/data/batch.h"

namespace unfold {

class Lanes {
 public:
  /// What a window reads of an item, as one chain.
  struct Stretch {
    std::size_t lane, item;
    Index first, length;
  };

  Lanes() = default;
  explicit Lanes(std::vector<std::vector<Index>> lengths);  ///< of the items of each lane, in its order

  /// The stretches of the next `window` positions of every lane; the slots of `carry` hand the state of a lane on: its
  /// first chain goes on where its last one ended, and begins afresh where an item begins. False at the end.
  bool next(Index window, std::vector<Stretch>& stretches, Carry& carry);
  void skip(Index positions);         ///< as if so many positions of every lane had been read
  Index windows(Index window) const;  ///< from the beginning, in all
  Index count() const { return static_cast<Index>(lengths_.size()); }

 private:
  struct Cursor {
    std::size_t item = 0;
    Index offset = 0;  ///< positions of the item already read
  };
  /// Moves on by at most `most` positions, within an item; how many. REQUIRES an item.
  Index advance(std::size_t lane, Index most);
  bool has_item(std::size_t lane) const { return cursors_[lane].item < lengths_[lane].size(); }

  std::vector<std::vector<Index>> lengths_;
  std::vector<Cursor> cursors_;
};

/// Deals items of these lengths to at most `lanes` lanes, the longest first to the lane with the least to read, so that
/// all end at about the same time. The numbers of the items of each lane, the longest first.
std::vector<std::vector<Index>> deal(std::span<const Index> lengths, Index lanes);

}  // namespace unfold
