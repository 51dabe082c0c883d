#pragma once
/// Where the numbers of an unfolding are: buffers of values, adjoints and tangents laid out over a structure, and the
/// address of any signal at any row. Internal to engine/.
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
  Index rows() const { return rows_; }      ///< positions
  Index places() const { return places_; }  ///< sequences, from the longest to the shortest
  Index steps() const { return steps_; }
  bool rectangular() const { return rectangular_; }  ///< chains of one length: shifted views are contiguous over steps
  Index slot(Index place) const { return slots_[static_cast<std::size_t>(place)]; }  ///< of the state
  const std::vector<Index>& slots() const { return slots_; }
  Index length(Index place) const { return structure_->size(structure_->sequence_at(place)); }
  const Structure::Order& order(Corner corner = Corner::top_left) const { return structure_->order(corner); }
  Index first_row(Index step, Corner corner = Corner::top_left) const {
    return order(corner).step_begin[static_cast<std::size_t>(step)];
  }
  Index step_rows(Index step, Corner corner) const;  ///< 0 beyond the last step
  /// Steps, from the last to the first, grouped so that a view shifted by `shift` steps stays contiguous within each
  /// group: (first step, its rows).
  std::vector<std::pair<Index, Range>> runs(Index shift) const;
  /// For each row, the row that a gathered link looks at, or -1; the source row of a reordered signal.
  const std::vector<Index>& predecessors(int link) const { return predecessors_[static_cast<std::size_t>(link)]; }
  const std::vector<Index>& reorder_from(int i) const { return reorder_from_[static_cast<std::size_t>(i)]; }

  // --- numbers
  /// The address of column 0 of node i at `row` of `step`; nullptr for scratch.
  T* address(What what, int i, Index step, Index row);
  Index stride(What what, int i) const { return node(place_of(plan_, what, i).root).size; }
  Matrix<T> matrix(What what, int i, Index step, Range rows);
  Matrix<T> matrix(What what, int i) { return matrix(what, i, 0, {0, rows_}); }
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
    Index rows = -1;                 // for how many there is room
  };
  Group& group(What what) { return groups_[static_cast<std::size_t>(what)]; }
  bool is_laid_over(const Structure& structure) const;
  void allocate(What what);
  void lay_node(int i);

  const Plan& plan_;
  std::unique_ptr<Structure> structure_;
  std::vector<Index> slots_;
  Index rows_ = 0, places_ = 0, steps_ = 0;
  bool rectangular_ = false;
  Group groups_[3];
  std::vector<std::vector<Symbol>> symbols_;      // per symbols (or reordered symbols) node
  std::vector<std::vector<Index>> predecessors_;  // per gathered link
  std::vector<std::vector<Index>> reorder_from_;  // per reorder node
};

}  // namespace unfold
