#pragma once
/// Structures: positions and their predecessors. A ragged batch of chains, grids or trees is the only kind of batch;
/// there is no padding.
///
/// Sources. Chains may look at the chains of another structure, their source: each position at one of them. So an
/// example of two chains is a chain that looks at another one, and words look at the chains of their characters. A
/// source may have a source: part 0 of a circuit runs over the structure, part 1 over its source, and so on. Grids look
/// at finer grids alike: a position at k x k positions of the other.
///
/// Rows. A signal over a structure is a matrix with one row per position. Rows are ordered by steps: the rows of step s
/// can all be computed together once the earlier steps are. In a batch of chains, sequences are sorted by falling
/// length (ties in the given order), step t holds the t-th positions, and the sequences still running are a prefix of
/// those of the step before. Grids have one order for each corner that a recurrence may start from.

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/circuit/circuit.h"

namespace unfold {

/// The corner where a recurrence over a grid starts; chains and trees have `top_left` only.
enum class Corner { top_left, top_right, bottom_left, bottom_right };

struct Tree {
  /// children[v]: the children of node v in order; -1 for an absent child. Every node is the child of at most one node
  /// and there is no cycle; anything else is a UsageError.
  std::vector<std::vector<Index>> children;
};

class Structure {
 public:
  enum class Kind { chains, grids, trees };

  static Structure chains(std::span<const Index> lengths);  ///< lengths >= 1
  static Structure chains(std::initializer_list<Index> lengths) {
    return chains(std::span<const Index>(lengths.begin(), lengths.size()));
  }
  static Structure chains(Index count, Index length);
  static Structure grids(std::span<const std::pair<Index, Index>> shapes);  ///< (height, width)
  /// Grids of blocks: `shapes` are those of the finest grids, `sides` those of the blocks, from the finest on. Each
  /// side above 1 makes a coarser structure, which looks at the finer one; the result is the coarsest.
  static Structure grids(std::span<const std::pair<Index, Index>> shapes, std::span<const Index> sides);
  static Structure trees(std::span<const Tree> trees);
  /// These chains, looking at those of `source`: all positions of a sequence at one chain, or each position, numbered
  /// as an item, at one of its own. So do grids look at grids. Throws UsageError: trees, chains and grids together, a
  /// number of chains that fits neither, a chain that is not there.
  Structure looking_at(Structure source, std::vector<Index> chains) const;
  /// Sequence e looks at chain e.
  Structure looking_at(Structure source) const;

  /// Null: none. It is shared by copies.
  const Structure* source() const { return source_.get(); }
  /// So many sources deep; 0: itself. Throws UsageError when there is none.
  const Structure& part(int depth) const;
  int parts() const { return source_ == nullptr ? 1 : 1 + source_->parts(); }
  /// For each row, the chain of part `depth` that it looks at.
  std::vector<Index> chains_seen(int depth) const;
  /// For each row, the row of part `depth` that a link which crosses looks at, or -1; along `block` the rows of its
  /// block, one behind the other. Throws UsageError where grids are not as fine as the blocks need.
  std::vector<Index> rows_seen(const Delay& delay, int depth) const;
  /// Whether two sequences look at one chain of their source, here or in any part.
  bool shares_sources() const;
  /// Chains of one length.
  bool rectangular() const {
    return kind_ == Kind::chains && size(sequence_at(0)) == size(sequence_at(sequences() - 1));
  }
  /// Chains or grids of the same sizes in the same order, which look at equal ones alike. False for trees.
  bool same_layout(const Structure& other) const;

  Kind kind() const { return kind_; }
  Index positions() const { return positions_; }
  Index sequences() const { return static_cast<Index>(sizes_.size()); }
  Index size(Index sequence) const { return sizes_[sequence_index(sequence)]; }  ///< positions of one sequence

  /// Steps and rows of one order. Row ranges of the steps are consecutive.
  struct Order {
    std::vector<Index> step_begin;  ///< steps + 1 row numbers
    std::vector<Index> rows;        ///< rows[item]: row of an item (see `item`)
    std::vector<Index> items;       ///< the inverse
    Index steps() const { return static_cast<Index>(step_begin.size()) - 1; }
    Range step(Index s) const {
      require_index("structure: step", s, steps());
      return {step_begin[static_cast<std::size_t>(s)], step_begin[static_cast<std::size_t>(s) + 1]};
    }
  };
  const Order& order(Corner corner = Corner::top_left) const;

  /// Positions are numbered as items: sequence after sequence; within one: time, raster order, node number.
  Index item(Index sequence, Index position) const {
    require_index("structure: position", position, size(sequence));
    return first_item_[static_cast<std::size_t>(sequence)] + position;
  }
  /// Row of a position in the main order.
  Index row(Index sequence, Index position) const {
    return order().rows[static_cast<std::size_t>(item(sequence, position))];
  }
  /// Place of a sequence among the sorted ones (chains): its row within each of its steps.
  Index place(Index sequence) const { return place_[sequence_index(sequence)]; }
  Index sequence_at(Index place) const { return at_place_[sequence_index(place)]; }
  Index sequence_of_item(Index item) const {
    require_index("structure: item", item, positions_);
    return sequence_of_[static_cast<std::size_t>(item)];
  }

  /// Of trees: the rows of a row's children in their order, -1 for an absent one.
  std::span<const Index> child_rows(Index row) const {
    require_index("structure: row of a tree", row, kind_ == Kind::trees ? positions_ : 0);
    const auto begin = static_cast<std::size_t>(child_begin_[static_cast<std::size_t>(row)]);
    return std::span(child_rows_)
        .subspan(begin, static_cast<std::size_t>(child_begin_[static_cast<std::size_t>(row) + 1]) - begin);
  }
  /// For each row of `corner`'s order: the row of its predecessor, or -1 beyond the boundary; along `children` and
  /// `each_child` its first child. Throws UsageError when the structure has no such neighbours (a child link on a
  /// chain).
  std::vector<Index> predecessors(const Delay& delay, Corner corner) const;

 private:
  Structure() = default;
  std::size_t sequence_index(Index sequence) const {
    require_index("structure: sequence", sequence, sequences());
    return static_cast<std::size_t>(sequence);
  }
  void number(std::vector<Index> sizes);
  Index predecessor(const Delay& delay, Index sequence, Index position) const;  ///< position or -1
  Order sort(const std::vector<Index>& level) const;
  std::vector<Index> block_rows(Index side, int depth) const;
  void number_children();

  Kind kind_ = Kind::chains;
  Index positions_ = 0;
  std::vector<Index> sizes_, first_item_, place_, at_place_, sequence_of_;
  std::vector<std::pair<Index, Index>> shapes_;
  std::vector<Tree> trees_;
  std::vector<Index> parents_;                   // per item: within the tree, or -1
  std::vector<Index> child_begin_, child_rows_;  // of trees, by rows
  std::vector<Order> orders_;
  std::shared_ptr<const Structure> source_;
  std::vector<Index> chain_of_;  // per item, of the source
};

}  // namespace unfold
