#pragma once
/// Internal: optimizer steps for networks with large lookup tables, such as the embeddings of words. A batch reads few
/// rows of such a table, and the gradient of all other rows is zero. An objective that implements RowObjective and a
/// direction that implements RowDirection take a step whose cost depends on the rows that are read: the direction
/// postpones the updates of the other rows until somebody reads them. The results are bit-identical to steps over all
/// rows.
///
///   direction.start_rows(team, parameters, rows);      // the rows that the batch reads become current
///   objective.gradient_of_rows(direction, gradient);   // reads them; then lends the parameters to the direction
///   direction.move_rows(team, parameters, rows, ...);  // updates them and lends the parameters to the direction
///
/// While the parameters are lent, any access from elsewhere (validation, a checkpoint, an observer) makes all rows
/// current first (Parameters::lend).

#include <algorithm>
#include <span>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/types.h"
#include "unfold/graph/circuit/parameters.h"

namespace unfold {

/// A block of parameters whose rows are read only by symbols.
struct RowTable {
  Index offset = 0, rows = 0, cols = 0;
  std::vector<Index> read = {};  ///< rows that the batch reads, ascending

  Index row(Index r) const { return offset + r * cols; }
  Index end() const { return row(rows); }
};

/// Tables in ascending order of their offsets.
using RowTables = std::vector<RowTable>;

/// Calls visit(range) for every range of n parameters that is outside all tables.
template <class Visit>
void for_each_range_outside(const RowTables& tables, Index n, Visit visit) {
  Index begin = 0;
  for (const RowTable& table : tables) {
    if (begin < table.offset) visit(Range{begin, table.offset});
    begin = table.end();
  }
  if (begin < n) visit(Range{begin, n});
}

/// Returns the norm of a gradient that is zero in all rows that are not read. Bit-identical to global_norm.
template <class T>
double norm_of_rows(Team& team, std::span<const T> gradient, const RowTables& tables);

/// An objective that can tell which rows a batch reads.
template <class T>
class RowObjective {
 public:
  virtual ~RowObjective() = default;
  /// Returns the tables and the rows that the current batch reads, or null if steps over all rows are as fast or if the
  /// gradient has other terms. The reference is valid until the next batch.
  virtual const RowTables* rows_read() = 0;
  /// Like Objective::gradient, but adds to `gradient` [parameters], which must be zero. Reads only the parameters that
  /// the keeper brings at their first access. Lends the parameters to the keeper before anything else reads them.
  virtual double gradient_of_rows(Keeper<T>& keeper, std::span<T> gradient) = 0;
};

/// A direction that can postpone updates of rows without a gradient.
template <class T>
class RowDirection : public Keeper<T> {
 public:
  virtual bool can_move_rows() const = 0;
  /// The next access to the parameters makes only the rows that are read current.
  virtual void start_rows(Team& team, Parameters<T>& parameters, const RowTables& tables) = 0;
  /// Like Direction::move, with a gradient that is zero in all rows that are not read.
  virtual void move_rows(Team& team, Parameters<T>& parameters, const RowTables& tables, std::span<const T> gradient,
                         double scale, double rate) = 0;
};

}  // namespace unfold
