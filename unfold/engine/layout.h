#pragma once
/// Where the numbers of an unfolding are: buffers of values, adjoints and tangents laid out over a structure, and the
/// address of any signal at any row. Internal to engine/.
///
/// Every node has its rows over the part of the structure that it is of (Node::part): what is said of rows, places and
/// steps here is said of a part. Places and slots of the state are those of part 0.
///
/// A buffer belongs to a root (Place::root) and has one row per position after the rows of its history: `places` rows
/// for each step before the first. Adjoints inside loops may lie in a ring of 1 + history steps.

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "unfold/base/views.h"
#include "unfold/engine/plan.h"
#include "unfold/engine/structure.h"

namespace unfold {

/// The three kinds of numbers of a signal.
enum class What : unsigned char { value, adjoint, tangent };

inline const Place& place_of(const Plan& plan, What what, int i) {
  return what == What::value ? plan.value_place(i) : plan.adjoint_place(i);
}

template <class T>
class Layout {
 public:
  explicit Layout(const Plan& plan);

  /// False when nothing but the state slots has changed.
  bool lay(const Structure& structure, std::span<const Index> slots);
  /// Makes room for adjoints or tangents over the present structure.
  void make_room(What what);

  const Node& node(int i) const { return plan_.nodes()[static_cast<std::size_t>(i)]; }

  // --- the structure
  bool laid() const { return structure_ != nullptr; }
  const Structure& structure() const { return *structure_; }
  const Structure& structure(int part) const { return *level(part).structure; }
  int part(int i) const { return node(i).part; }
  int parts() const { return parts_; }                             ///< of the plan
  Index rows(int part = 0) const { return level(part).rows; }      ///< positions
  Index places(int part = 0) const { return level(part).places; }  ///< sequences, from the longest to the shortest
  Index steps(int part = 0) const { return level(part).steps; }
  /// Chains of one length: shifted views are contiguous over steps.
  bool rectangular(int part = 0) const { return level(part).rectangular; }
  Index slot(Index place) const { return slots_[static_cast<std::size_t>(place)]; }  ///< of the state
  const std::vector<Index>& slots() const { return slots_; }
  Index length(Index place, int part = 0) const { return structure(part).size(structure(part).sequence_at(place)); }
  const Structure::Order& order(Corner corner = Corner::top_left, int part = 0) const {
    return structure(part).order(corner);
  }
  Index first_row(Index step, Corner corner = Corner::top_left, int part = 0) const {
    return order(corner, part).step_begin[static_cast<std::size_t>(step)];
  }
  Index step_rows(Index step, Corner corner, int part = 0) const;  ///< 0 beyond the last step
  /// Steps, from the last to the first, grouped so that a view shifted by `shift` steps stays contiguous within each
  /// group: (first step, its rows).
  std::vector<std::pair<Index, Range>> runs(Index shift, int part) const;
  /// For each row, the row that a gathered link looks at, or -1 (along `block` all rows of its block); the source row
  /// of a reordered signal.
  const std::vector<Index>& predecessors(int link) const { return predecessors_[static_cast<std::size_t>(link)]; }
  const std::vector<Index>& reorder_from(int i) const { return reorder_from_[static_cast<std::size_t>(i)]; }
  /// What rows of a part from `row` on look at through a term with a memory: numbers of chains, and the rows of each.
  /// Keys, values and their adjoints are left to the passes.
  MemoryRows<T> memory_of(int part, const Node::AffineTerm& term, Index row) const;
  Index longest_source() const { return longest_source_; }  ///< positions of the longest chain of any source

  // --- numbers
  /// The address of column 0 of node i at `row` of `step`; nullptr for scratch.
  T* address(What what, int i, Index step, Index row) { return address(what, place_of(plan_, what, i), step, row); }
  T* address(What what, const Place& here, Index step, Index row);
  Index stride(What what, int i) const { return node(place_of(plan_, what, i).root).size; }
  Matrix<T> matrix(What what, int i, Index step, Range rows);
  Matrix<T> matrix(What what, int i) { return matrix(what, i, 0, {0, rows(part(i))}); }
  /// The place and row `steps_back` before the first position (steps_back >= 1).
  T* history_row(What what, int i, Index steps_back, Index place);
  Buffer<T>& buffer(What what, int root) { return group(what).buffers[static_cast<std::size_t>(root)]; }

  // --- symbols
  std::vector<Symbol>& symbols(int i) { return symbols_[static_cast<std::size_t>(i)]; }
  const std::vector<Symbol>& symbols(int i) const { return symbols_[static_cast<std::size_t>(i)]; }
  const Symbol* lookup(int source) const;  ///< the symbols behind a term's source, or nullptr for numbers

  std::size_t memory_bytes() const;

 private:
  struct Group {
    std::vector<Buffer<T>> buffers;  // per root
    bool roomy = false;              // for the present structure
  };
  struct Level {
    const Structure* structure;
    Index rows, places, steps;
    bool rectangular;
    std::vector<Index> chain_begin, chain_rows;  // of each chain, one after another
    std::vector<std::vector<Index>> seen;        // per deeper level: the chain that each row looks at
  };
  const Level& level(int part) const { return levels_[static_cast<std::size_t>(part)]; }
  void lay_levels();
  Group& group(What what) { return groups_[static_cast<std::size_t>(what)]; }
  bool is_laid_over(const Structure& structure) const;
  void allocate(What what);
  void lay_node(int i);

  const Plan& plan_;
  std::unique_ptr<Structure> structure_;
  std::vector<Index> slots_;
  int parts_ = 1;  // of the plan
  std::vector<Level> levels_;
  Index longest_source_ = 0;
  Group groups_[3];
  std::vector<std::vector<Symbol>> symbols_;      // per symbols (or reordered symbols) node
  std::vector<std::vector<Index>> predecessors_;  // per gathered link
  std::vector<std::vector<Index>> reorder_from_;  // per reorder node
};

}  // namespace unfold
