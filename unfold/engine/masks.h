#pragma once
/// Dropout masks: functions of (seed, state slot, position in the stream), so that no division of the work and no cut
/// of a window changes them. Internal to engine/.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/engine/layout.h"
#include "unfold/numerics/random.h"

namespace unfold {

class Masks {
 public:
  /// Positions are counted from `first_position`.
  void draw(std::uint64_t seed, Index first_position) { drawn_ = true, seed_ = seed, origin_ = first_position; }
  void switch_off() { drawn_ = false; }
  void lay(Index rows) { keys_.resize(static_cast<std::size_t>(rows)); }

  /// Numbers the rows of a layout. By all members.
  template <class T>
  void number(Member& me, const Layout<T>& layout) {
    if (!drawn_) return;
    const Structure& structure = layout.structure();
    const Range mine = me.share(layout.rows());
    for (Index r = mine.begin; r < mine.end; ++r) {
      const Index item = layout.order().items[static_cast<std::size_t>(r)], s = structure.sequence_of_item(item);
      const Index position = origin_ + item - structure.item(s, 0), slot = layout.slot(structure.place(s));
      keys_[static_cast<std::size_t>(r)] =
          (static_cast<std::uint64_t>(slot) << 32) | static_cast<std::uint64_t>(position);
    }
  }

  /// The mask of a node for rows from `row` on; ones when switched off.
  template <class T>
  void fill(const Node& node, Index row, Matrix<T> mask) const {
    if (drawn_)
      dropout_mask<T>(seed_, stream_of(node.name), keys_.data() + row, node.constant, mask);
    else
      std::fill_n(mask.data, mask.rows * mask.cols, T{1});
  }

 private:
  bool drawn_ = false;
  std::uint64_t seed_ = 0;
  Index origin_ = 0;
  std::vector<std::uint64_t> keys_;  // per row
};

}  // namespace unfold
