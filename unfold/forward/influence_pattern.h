#pragma once
/// Which influences G_ij = ds_i / dtheta_j are kept, and how they are stored.
///
/// Parameters are put into groups that reach the same components of the state within so many steps; a group keeps a
/// dense block [its components x its parameters]. One step is then
///
///   G_t = [J_t G_{t-1} + I_t] on the pattern,   J_t = ds_t / ds_{t-1},   I_t = the partial derivative ds_t / dtheta
///
/// Menick et al. 2021, equation (3) and section 3.1 (SnAp-n: what is reached within n steps); without a bound on the
/// steps nothing is left out and this is Williams & Zipser's recursion. One diagonal layer keeps as many numbers as it
/// has parameters, a full one as many as states times parameters.
///
/// J and I come from backward passes over one position, a row of both each. Rows that have no column in common share a
/// pass, as in the compression of sparse Jacobians (Curtis, Powell & Reid 1974): a diagonal layer needs one or two.

#include "unfold/forward/reach.h"

namespace unfold {

class InfluencePattern {
 public:
  /// A row of J: [begin, end) in `columns` and in the values of a step.
  struct JacobianRow {
    Index begin = 0, end = 0;
  };
  /// Entry (to, from) of J, by the places of both among the components of a group, and where its value lies.
  struct Entry {
    std::int32_t to = 0, from = 0;
    Index value = 0;
  };
  struct Group {
    std::vector<Index> states;  ///< ascending
    std::vector<ParameterRange> parameters;
    Index count = 0;   ///< of parameters
    Index offset = 0;  ///< of its block [states x count]
    std::vector<Entry> entries = {};
  };
  /// Parameters of I in the row of a component, and where they go.
  struct Immediate {
    Index place = 0;
    ParameterRange parameters = {};
  };

  /// `steps` 0: without a bound. Lays nothing out: `size` and `operations` are known before `lay`.
  InfluencePattern(const Reach& reach, Index steps);
  /// Lays the blocks out.
  void lay(const Reach& reach);

  Index size() const { return size_; }               ///< numbers in all blocks
  double operations() const { return operations_; }  ///< multiply-adds of J G in a step
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<std::vector<Index>>& passes() const { return passes_; }  ///< rows that share a backward pass
  const std::vector<JacobianRow>& rows() const { return rows_; }
  const std::vector<Index>& columns() const { return columns_; }  ///< of J, row by row, ascending
  /// Of each component of the state.
  const std::vector<std::vector<Immediate>>& immediates() const { return immediates_; }
  /// Places of ds_i / dtheta_j = 1 before the first step, of trained starts.
  const std::vector<Index>& starts() const { return starts_; }

 private:
  IndexSet closed(IndexSet set, Index steps, const Reach& reach) const;
  void list_entries();

  Index size_ = 0;
  double operations_ = 0;
  std::vector<Group> groups_;
  std::vector<std::vector<Index>> passes_;
  std::vector<JacobianRow> rows_;
  std::vector<Index> columns_;
  std::vector<std::vector<Immediate>> immediates_;
  std::vector<Index> starts_;
  std::vector<std::size_t> group_of_;  // of each set within the step, then of each start
};

/// Rows 0 to `columns.size()` - 1 in as few passes as a greedy choice finds, such that no two of a pass have a column
/// in common. Rows without columns are in none.
std::vector<std::vector<Index>> passes_of(const std::vector<IndexSet>& columns);

/// What a row of I reads: sets within the step (Reach::within), by their numbers, for each component of the state.
std::vector<IndexSet> immediate_columns(const Reach& reach);

}  // namespace unfold
