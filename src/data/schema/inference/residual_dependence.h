#pragma once
/// Tests whether the part of a column that the other columns do not explain depends on the preceding rows.
///
/// A series can be the sum of an effect of other columns, which have no order, and of a slowly varying part. Its
/// entries then hardly depend on the preceding entries, but the residuals of a linear regression on the other columns
/// do. They are tested like the entries of a column (serial_dependence.h), with a stricter threshold.

#include <vector>

#include "data/schema/inference/column_profile.h"

namespace unfold {

class ResidualDependence {
 public:
  static constexpr std::size_t kMostColumns = 64, kMostRows = 2000;  ///< tables with more columns are not tested

  /// Keeps the numbers that were added last to the profiles of all columns.
  void add(const std::vector<ColumnProfile>& profiles);
  void add(const std::vector<double>& row);
  /// Returns whether the residuals of a column of numbers depend on earlier ones. Rows with a missing number are left
  /// out. False if there are no inputs, or too few rows to decide.
  bool depends(std::size_t column, const std::vector<std::size_t>& inputs) const;

 private:
  std::vector<double> residuals(std::size_t column, const std::vector<std::size_t>& inputs) const;

  std::size_t columns_ = 0;
  std::vector<double> values_;  ///< row by row
};

}  // namespace unfold
