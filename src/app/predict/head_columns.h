#pragma once
/// Internal: the predictions of one head as columns.

#include <span>
#include <string>
#include <vector>

#include "app/predict/added_column.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// The columns of one head, filled row by row.
template <class T>
class HeadColumns {
 public:
  HeadColumns(const Head<T>& head, const FieldSpecification& field, Index entries, bool probabilities);

  /// `best`: the label to report if it is not the most probable one at this position.
  void set(Index entry, std::span<const T> signal, Symbol best = kNoSymbol);
  std::vector<AddedColumn>& columns() { return columns_; }

 private:
  void set_symbol(Index entry, std::span<const T> logits, Symbol chosen);

  void set_values(Index entry, std::span<const T> signal);

  const Head<T>& head_;
  const FieldSpecification& field_;
  bool classes_;
  bool unsegmented_ = false;
  std::vector<std::string> names_;  // names of labels or of hidden states
  std::vector<AddedColumn> columns_;
  std::vector<double> probabilities_;
  std::vector<T> values_;
};

}  // namespace unfold
