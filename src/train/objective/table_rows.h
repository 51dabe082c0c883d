#pragma once
/// Internal: finds the rows of large lookup tables that a batch reads (optim/direction/row_steps.h).

#include <string>
#include <vector>

#include "optim/direction/row_steps.h"
#include "unfold/data/text/batch.h"
#include "unfold/loss/network.h"

namespace unfold {

class TableRows {
 public:
  /// Finds the parameters that are read only by lookups of input symbols.
  template <class T>
  explicit TableRows(const Network<T>& network);

  bool any() const { return !tables_.empty(); }
  /// Returns the tables with the rows that the batch reads, or null if it reads most rows, in which case a step over
  /// all rows is as fast. Valid until the next call.
  const RowTables* read(const Batch& batch);

 private:
  void mark(const Batch& batch, std::size_t table);

  RowTables tables_;
  std::vector<std::vector<std::string>> fields_;  // of each table: the fields whose symbols select rows
  std::vector<char> seen_;                        // scratch: whether a row has been found
};

}  // namespace unfold
