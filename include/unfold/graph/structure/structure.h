#pragma once
/// A structure: positions and their predecessors. A ragged batch of chains, grids or trees is the only kind of batch;
/// there is no padding.
///
///   const Structure batch = Structure::chains({5, 3});   // two sequences, of 5 and 3 positions
///   batch.row(1, 0)                                      // the row of the first position of the second sequence
///
/// Sources. Each position of a chain may refer to a chain of another structure, its source. Examples: a target sequence
/// refers to its source sequence; words refer to the chains of their characters. A source may itself have a source:
/// part 0 of a circuit runs over the structure, part 1 over its source, and so on. Grids refer to finer grids in the
/// same way: a position refers to k x k positions of the finer grid.
///
/// Rows. A signal over a structure is a matrix with one row per position. Rows are ordered by steps: all rows of step s
/// can be computed together once the earlier steps are complete. In a batch of chains, sequences are sorted by
/// decreasing length (ties keep their order), step t holds the t-th positions, and the sequences that are active in a
/// step are a prefix of the sequences of the previous step. Grids have one order for each corner that a recurrence may
/// start from.

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/graph/circuit/circuit.h"

namespace unfold {

/// The corner where a recurrence over a grid starts. Chains and trees use only `top_left`.
enum class Corner { top_left, top_right, bottom_left, bottom_right };

struct Tree {
  /// children[v]: the children of node v in order; -1 for an absent child. Throws UsageError unless every node is the
  /// child of at most one node and there is no cycle.
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
  /// Grids of blocks: `shapes` are the sizes of the finest grids; `sides` are the side lengths of the blocks, starting
  /// at the finest level. Each side above 1 creates a coarser structure that refers to the finer one; the coarsest one
  /// is returned.
  static Structure grids(std::span<const std::pair<Index, Index>> shapes, std::span<const Index> sides);
  static Structure trees(std::span<const Tree> trees);
  /// Returns these chains with `source` as their source. `chains` has one entry per sequence (all its positions refer
  /// to that chain) or one per position, numbered as an item. Grids refer to grids in the same way. Throws UsageError
  /// for trees, for mixed chains and grids, for a wrong number of entries, and for a chain that does not exist.
  Structure with_source(Structure source, std::vector<Index> chains) const;
  /// Like the function above; sequence e refers to chain e.
  Structure with_source(Structure source) const;

  /// Returns null if there is no source. Copies share the source.
  const Structure* source() const { return source_.get(); }
  /// Returns the part `depth` sources down; 0 is the structure itself. Throws UsageError if it does not exist.
  const Structure& part(int depth) const;
  int parts() const { return source_ == nullptr ? 1 : 1 + source_->parts(); }
  /// Returns, for each row, the chain of part `depth` that the row refers to.
  std::vector<Index> source_chains(int depth) const;
  /// Returns, for each row, the row of part `depth` that a link across parts reads, or -1; along `block`, all rows of
  /// the block in order. Throws UsageError if the grids are not as fine as the blocks require.
  std::vector<Index> rows_seen(const Delay& delay, int depth) const;
  /// Returns whether two sequences refer to the same chain of their source, here or in any deeper part.
  bool shares_sources() const;
  /// Returns whether all chains have the same length.
  bool rectangular() const {
    return kind_ == Kind::chains && size(sequence_at(0)) == size(sequence_at(sequences() - 1));
  }
  /// Returns whether both are chains or grids of the same sizes in the same order, and their sources match as well.
  /// False for trees.
  bool same_layout(const Structure& other) const;

  Kind kind() const { return kind_; }
  Index positions() const { return positions_; }
  Index sequences() const { return static_cast<Index>(sizes_.size()); }
  Index size(Index sequence) const { return sizes_[sequence_index(sequence)]; }  ///< positions of one sequence

  /// Steps and rows of one order. The row ranges of the steps are consecutive.
  struct Order {
    std::vector<Index> step_begin;  ///< steps + 1 row numbers
    std::vector<Index> rows;        ///< rows[item]: row of an item (see `item`)
    std::vector<Index> items;       ///< the inverse of `rows`
    Index steps() const { return static_cast<Index>(step_begin.size()) - 1; }
    Range step(Index s) const {
      require_index("structure: step", s, steps());
      return {step_begin[static_cast<std::size_t>(s)], step_begin[static_cast<std::size_t>(s) + 1]};
    }
  };
  const Order& order(Corner corner = Corner::top_left) const;

  /// Positions are numbered as items: sequence by sequence; within a sequence in order of time, raster or node number.
  Index item(Index sequence, Index position) const {
    require_index("structure: position", position, size(sequence));
    return first_item_[static_cast<std::size_t>(sequence)] + position;
  }
  /// Returns the row of a position in the main order.
  Index row(Index sequence, Index position) const {
    return order().rows[static_cast<std::size_t>(item(sequence, position))];
  }
  /// Returns the place of a sequence (chains): its rank in the sorted order, which is its row number within each step.
  Index place(Index sequence) const { return place_[sequence_index(sequence)]; }
  Index sequence_at(Index place) const { return at_place_[sequence_index(place)]; }
  Index sequence_of_item(Index item) const {
    require_index("structure: item", item, positions_);
    return sequence_of_[static_cast<std::size_t>(item)];
  }

  /// For trees: returns the rows of a row's children in order, with -1 for an absent child.
  std::span<const Index> child_rows(Index row) const {
    require_index("structure: row of a tree", row, kind_ == Kind::trees ? positions_ : 0);
    const auto begin = static_cast<std::size_t>(child_begin_[static_cast<std::size_t>(row)]);
    return std::span(child_rows_)
        .subspan(begin, static_cast<std::size_t>(child_begin_[static_cast<std::size_t>(row) + 1]) - begin);
  }
  /// Returns, for each row in the order of `corner`, the row of its predecessor, or -1 beyond the boundary; along
  /// `children` and `each_child`, the row of its first child. Throws UsageError if the structure has no such neighbors
  /// (for example for a child link on a chain).
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
  std::vector<Index> parents_;                   // per item: parent within the tree, or -1
  std::vector<Index> child_begin_, child_rows_;  // trees only: offsets into and list of the child rows, by row
  std::vector<Order> orders_;
  std::shared_ptr<const Structure> source_;
  std::vector<Index> chain_of_;  // per item: index of its chain in the source
};

}  // namespace unfold
