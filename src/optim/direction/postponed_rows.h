#pragma once
/// Internal: postponed steps of Adam for the rows of tables (row_steps.h). Each row has a number of steps that it has
/// taken; the settings of the steps since all rows were last current are stored.

#include <span>
#include <vector>

#include "numerics/adam.h"
#include "optim/direction/row_steps.h"

namespace unfold {

template <class T>
class PostponedRows {
 public:
  /// The parameters and the moments, which have the same layout.
  struct Vectors {
    std::span<T> p, m, v;
  };

  bool any() const { return !steps_.empty(); }
  /// REQUIRES !any(), or the same tables as in the last call.
  void set_tables(const RowTables& tables);
  bool has_tables(const RowTables& tables) const;
  /// Makes the rows that are read current.
  void take_read(Team& team, const RowTables& tables, const Vectors& vectors);
  /// Makes all rows current.
  void take_all(Team& team, const Vectors& vectors);
  /// Adds a step that only the rows that were read have taken.
  void add(const AdamFactors<T>& step, const RowTables& tables);
  /// Returns whether the number of stored steps has reached the maximum, after which all rows are made current.
  bool full() const { return steps_.size() >= kMostSteps; }

 private:
  static constexpr std::size_t kMostSteps = 64;

  struct Table {
    Index offset, rows, cols;
    std::vector<std::uint8_t> taken;  // number of stored steps that each row has taken
  };
  void take(const Table& table, Range rows, const Vectors& vectors) const;

  std::vector<Table> tables_;
  std::vector<AdamFactors<T>> steps_;
};

}  // namespace unfold
