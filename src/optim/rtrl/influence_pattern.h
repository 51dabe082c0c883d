#pragma once
/// Sparsity pattern and storage of the influence matrix, G_ij = ds_i / dtheta_j.
///
/// Parameters are grouped by the components of the state that they reach within the given number of steps. A group
/// stores a dense block [its components x its parameters]. One step is
///
///   G_t = [J_t G_{t-1} + I_t] on the pattern,   J_t = ds_t / ds_{t-1},   I_t = the partial derivative ds_t / dtheta
///
/// See Menick et al. 2021, equation (3) and section 3.1 (SnAp-n: components reached within n steps). Without a bound on
/// the steps, nothing is omitted and this is the recursion of Williams & Zipser. A diagonal layer stores one number per
/// parameter; a dense layer stores states times parameters.
///
/// J and I are computed by backward passes over one position; each pass gives one row of both. Rows without common
/// columns share a pass, as in the compression of sparse Jacobians (Curtis, Powell & Reid 1974); a diagonal layer
/// therefore needs only one or two passes.

#include "optim/rtrl/dependencies.h"

namespace unfold {

class InfluencePattern {
 public:
  /// A row of J: the range [begin, end) in `columns` and in the values of a step.
  struct JacobianRow {
    Index begin = 0, end = 0;
  };
  /// Entry (to, from) of J: the indices of both components within a group, and the position of its value.
  struct Entry {
    std::int32_t to = 0, from = 0;
    Index value = 0;
  };
  struct Group {
    std::vector<Index> states;  ///< ascending
    std::vector<ParameterRange> parameters;
    Index count = 0;   ///< number of parameters
    Index offset = 0;  ///< offset of the group's block [states x count]
    std::vector<Entry> entries = {};
  };
  /// Parameters of I in the row of a component, and their position in the group's block.
  struct Immediate {
    Index place = 0;
    ParameterRange parameters = {};
  };

  /// If `steps` is 0, there is no bound. `size` and `operations` are available before `lay`.
  InfluencePattern(const Reach& reach, Index steps);
  /// Computes the layout of the blocks.
  void lay(const Reach& reach);

  Index size() const { return size_; }               ///< number of values in all blocks
  double operations() const { return operations_; }  ///< multiply-adds of J G in a step
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<std::vector<Index>>& passes() const { return passes_; }  ///< rows that share a backward pass
  const std::vector<JacobianRow>& rows() const { return rows_; }
  const std::vector<Index>& columns() const { return columns_; }  ///< columns of J, row by row, ascending
  /// Returns the parameters of I for each component of the state.
  const std::vector<std::vector<Immediate>>& immediates() const { return immediates_; }
  /// Returns the positions with ds_i / dtheta_j = 1 before the first step, for trained initial values.
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
  // Group of each parameter set within the step, then of each trained initial value.
  std::vector<std::size_t> group_of_;
};

/// Distributes rows 0 to `columns.size()` - 1 over few passes (greedily), such that no two rows of a pass have a column
/// in common. Rows without columns are omitted.
std::vector<std::vector<Index>> passes_of(const std::vector<IndexSet>& columns);

/// Returns, for each component of the state, the parameter sets that a row of I reads within the step, as indices into
/// Reach::within.
std::vector<IndexSet> immediate_columns(const Reach& reach);

}  // namespace unfold
