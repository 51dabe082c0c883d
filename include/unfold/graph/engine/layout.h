#pragma once
/// Memory layout of an unfolding: buffers of values, adjoints and tangents laid out over a structure, and the address
/// of any signal at any row. Internal: public only because batch_pass.h includes it through stored_activations.h.
///
/// Every node has its rows over its own part of the structure (Node::part); rows, steps and places (the ranks of
/// sequences, Structure::place) below refer to that part. State slots belong to the places of part 0.
///
/// A buffer belongs to a root (Place::root). It holds the history rows, `places` rows for each step before the first,
/// followed by one row per position. Adjoints inside loops may be stored in a ring of 1 + history steps.
///
/// The rows of a root may be in memory owned by the caller (bind), with any stride; its history is then in a buffer of
/// the layout. With `keep_values_outside`, all other values are in one block owned by the caller, so that the values of
/// several forward passes can be kept.

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "unfold/base/views.h"
#include "unfold/graph/plan/plan.h"
#include "unfold/graph/structure/structure.h"

namespace unfold {

/// The three kinds of values of a signal.
enum class What : unsigned char { value, adjoint, tangent };

inline const Place& position_in_total(const Plan& plan, What what, int i) {
  return what == What::value ? plan.value_place(i) : plan.adjoint_place(i);
}

template <class T>
class Layout {
 public:
  explicit Layout(const Plan& plan);

  /// Applies the plan to a structure. Returns false if only the state slots have changed.
  bool lay(const Structure& structure, std::span<const Index> slots);
  /// Allocates adjoints or tangents for the current structure.
  void make_room(What what);
  /// Returns whether `bind` can place the rows of a node: the node is not a view, and its buffer has no other columns.
  /// Inputs that links read cannot be bound, because their history must precede their rows.
  bool can_bind(What what, int i) const;
  /// Places the rows of a node at `rows`, until the structure changes.
  void bind(What what, int i, Matrix<T> rows);
  bool is_bound(What what, int root) const { return group(what).bound[static_cast<std::size_t>(root)] != 0; }
  /// Values that are not bound are in a block of `outside_numbers` elements that the caller provides after every `lay`.
  void keep_values_outside(bool outside);
  bool keeps_values_outside() const { return outside_; }
  Index outside_numbers() const;
  void bind_outside(T* block);
  /// Returns whether all rows have memory.
  bool is_complete(What what) const;
  /// Returns whether the rows of a root continue its history without a gap.
  bool is_contiguous(int root) const {
    const Memory& m = memory(What::value, root);
    return m.history == m.rows;
  }

  const Node& node(int i) const { return plan_.nodes()[static_cast<std::size_t>(i)]; }

  // --- structure
  bool laid() const { return structure_ != nullptr; }
  const Structure& structure() const { return *structure_; }
  const Structure& structure(int part) const { return *level(part).structure; }
  int part(int i) const { return node(i).part; }
  int parts() const { return parts_; }                         ///< number of parts of the plan
  Index rows(int part = 0) const { return level(part).rows; }  ///< positions
  /// Returns the number of sequences, which are sorted from longest to shortest.
  Index places(int part = 0) const { return level(part).places; }
  Index steps(int part = 0) const { return level(part).steps; }
  /// Returns whether all chains have the same length; shifted views are then contiguous over steps.
  bool rectangular(int part = 0) const { return level(part).rectangular; }
  Index slot(Index place) const { return slots_[static_cast<std::size_t>(place)]; }  ///< the state slot of a sequence
  const std::vector<Index>& slots() const { return slots_; }
  Index length(Index place, int part = 0) const { return structure(part).size(structure(part).sequence_at(place)); }
  const Structure::Order& order(Corner corner = Corner::top_left, int part = 0) const {
    return structure(part).order(corner);
  }
  Index first_row(Index step, Corner corner = Corner::top_left, int part = 0) const {
    return order(corner, part).step_begin[static_cast<std::size_t>(step)];
  }
  Index step_rows(Index step, Corner corner, int part = 0) const;  ///< 0 beyond the last step
  /// Returns the steps, from last to first, grouped so that a view at `place` stays contiguous within each group, as
  /// pairs (first step, rows).
  std::vector<std::pair<Index, Range>> runs(const Place& place, int part) const;
  /// Returns, for each row, the row that a gathered link reads, or -1 (along `block`: all rows of the block); for a
  /// reordered signal, the source row.
  const std::vector<Index>& predecessors(int link) const { return predecessors_[static_cast<std::size_t>(link)]; }
  const std::vector<Index>& reorder_from(int i) const { return reorder_from_[static_cast<std::size_t>(i)]; }
  /// Returns the memory that the rows of a part, from `row` on, read through a term: chain numbers and the rows of each
  /// chain. The passes fill in keys, values and their adjoints.
  MemoryRows<T> memory_of(int part, const Node::AffineTerm& term, Index row) const;
  Index longest_source() const { return longest_source_; }  ///< length of the longest chain of any source

  // --- values
  /// Returns the address of column 0 of node i at `row` of `step`; nullptr for scratch.
  T* address(What what, int i, Index step, Index row) {
    return address(what, position_in_total(plan_, what, i), step, row);
  }
  T* address(What what, const Place& here, Index step, Index row);
  Index stride(What what, int i) const { return memory(what, position_in_total(plan_, what, i).root).stride; }
  Matrix<T> matrix(What what, int i, Index step, Range rows);
  Matrix<T> matrix(What what, int i) { return matrix(what, i, 0, {0, rows(part(i))}); }
  /// Returns the row of a place, `steps_back` steps before the first position (steps_back >= 1).
  T* history_row(What what, int i, Index steps_back, Index place);
  Buffer<T>& buffer(What what, int root) { return group(what).buffers[static_cast<std::size_t>(root)]; }

  // --- symbols
  std::vector<Symbol>& symbols(int i) { return symbols_[static_cast<std::size_t>(i)]; }
  const std::vector<Symbol>& symbols(int i) const { return symbols_[static_cast<std::size_t>(i)]; }
  const Symbol* lookup(int source) const;  ///< the symbols read by a term's source, or nullptr if the source is numeric

  std::size_t memory_bytes() const;

 private:
  /// Where the rows of a root are stored. Row r >= 0 is at rows + r * stride; row r < 0 (history) is at history + r *
  /// stride.
  struct Memory {
    T* rows = nullptr;  // first row; for a ring: the first row of the ring
    T* history = nullptr;
    Index stride = 0;
  };
  struct Group {
    std::vector<Buffer<T>> buffers;  // one buffer per root
    std::vector<Memory> memory;      // location of the rows of each root
    std::vector<char> bound;         // for each root: whether the rows are in memory owned by the caller
    bool roomy = false;              // buffers are allocated for the current structure
  };
  struct Level {
    const Structure* structure;
    Index rows, places, steps;
    bool rectangular;
    std::vector<Index> chain_begin, chain_rows;  // rows of all chains, concatenated
    std::vector<std::vector<Index>> seen;        // for each deeper level: the chain that each row refers to
  };
  const Level& level(int part) const { return levels_[static_cast<std::size_t>(part)]; }
  void lay_levels();
  Group& group(What what) { return groups_[static_cast<std::size_t>(what)]; }
  const Group& group(What what) const { return groups_[static_cast<std::size_t>(what)]; }
  Memory& memory(What what, int root) { return group(what).memory[static_cast<std::size_t>(root)]; }
  const Memory& memory(What what, int root) const { return group(what).memory[static_cast<std::size_t>(root)]; }
  bool is_stored(What what, int root) const;
  bool is_read(int i) const;
  Index history_rows(int root) const { return plan_.history(root) * places(part(root)); }
  bool is_laid_over(const Structure& structure) const;
  void allocate(What what);
  void lay_node(int i);

  const Plan& plan_;
  std::unique_ptr<Structure> structure_;
  std::vector<Index> slots_;
  int parts_ = 1;  // number of parts of the plan
  std::vector<Level> levels_;
  Index longest_source_ = 0;
  Group groups_[3];
  bool outside_ = false;                          // values that are not bound are in a block owned by the caller
  std::vector<std::vector<Symbol>> symbols_;      // symbols of each symbol node (or reordered symbol node)
  std::vector<std::vector<Index>> predecessors_;  // predecessor rows of each gathered link
  std::vector<std::vector<Index>> reorder_from_;  // source rows of each reorder node
};

}  // namespace unfold
