#pragma once
/// Dropout masks. A mask is a function of (seed, state slot, position in the stream), so it does not depend on how the
/// work is divided or where windows begin; masks that last a whole sequence are a function of (seed, state slot).
/// Internal to engine/.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "numerics/dropout.h"
#include "unfold/base/threads/team.h"
#include "unfold/graph/engine/layout.h"
#include "unfold/numerics/random.h"

namespace unfold {

class Masks {
 public:
  /// Enables dropout. Positions are counted from `first_position`.
  void draw(std::uint64_t seed, Index first_position) { drawn_ = true, seed_ = seed, origin_ = first_position; }
  void switch_off() { drawn_ = false; }
  bool drawn() const { return drawn_; }
  std::uint64_t seed() const { return seed_; }
  /// Returns one key per row. A mask is a function of these keys, the seed and the name of its node. REQUIRES `number`.
  const std::vector<std::uint64_t>& keys(Lasts lasts, int part) const {
    return (lasts == Lasts::sequence ? chains_ : keys_)[static_cast<std::size_t>(part)];
  }
  template <class T>
  void lay(const Layout<T>& layout) {
    keys_.resize(static_cast<std::size_t>(layout.parts()));
    chains_.resize(keys_.size());
    for (int p = 0; p < layout.parts(); ++p)
      for (auto* of : {&keys_, &chains_})
        (*of)[static_cast<std::size_t>(p)].resize(static_cast<std::size_t>(layout.rows(p)));
  }

  /// Computes the keys of the rows of a layout. Called by all threads.
  template <class T>
  void number(Member& me, const Layout<T>& layout) {
    for (int p = 0; p < layout.parts() && drawn_; ++p) number(me, layout, p);
  }

  /// Fills the mask of a node for rows from `row` on; all ones if dropout is off.
  template <class T>
  void fill(const Node& node, Index row, Matrix<T> mask) const {
    if (drawn_)
      dropout_mask<T>(seed_, stream_of(node.name), keys(node.mask().lasts, node.part).data() + row, node.mask().rate,
                      mask);
    else
      std::fill_n(mask.data, mask.rows * mask.cols, T{1});
  }

 private:
  /// Chains of deeper parts have no state slot and are identified by their index.
  template <class T>
  void number(Member& me, const Layout<T>& layout, int part) {
    const Structure& structure = layout.structure(part);
    const Range mine = me.share(layout.rows(part));
    for (Index r = mine.begin; r < mine.end; ++r) {
      const Index item = structure.order().items[static_cast<std::size_t>(r)], s = structure.sequence_of_item(item);
      const Index position = item - structure.item(s, 0) + (part == 0 ? origin_ : 0);
      const Index stream = part == 0 ? layout.slot(structure.place(s)) : s;
      const std::uint64_t chain = static_cast<std::uint64_t>(stream) << 32;
      chains_[static_cast<std::size_t>(part)][static_cast<std::size_t>(r)] = chain;
      keys_[static_cast<std::size_t>(part)][static_cast<std::size_t>(r)] = chain | static_cast<std::uint64_t>(position);
    }
  }

  bool drawn_ = false;
  std::uint64_t seed_ = 0;
  Index origin_ = 0;
  std::vector<std::vector<std::uint64_t>> keys_;    // one key per part and row
  std::vector<std::vector<std::uint64_t>> chains_;  // keys that are equal for all rows of a chain, per part and row
};

}  // namespace unfold
