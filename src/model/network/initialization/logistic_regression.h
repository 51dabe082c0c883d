#pragma once
/// Logistic regression for several labels on sparse features.

#include <cstdint>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Sparse rows of features, one after the other.
struct SparseRows {
  std::vector<Index> ends;            ///< of each row
  std::vector<std::int32_t> columns;  ///< of each value
  std::vector<double> values;
  Index width = 0;  ///< number of columns

  Index count() const { return static_cast<Index>(ends.size()); }
  Index begin(Index row) const { return row == 0 ? 0 : ends[static_cast<std::size_t>(row - 1)]; }
};

struct LogisticWeights {
  std::vector<double> weights;  ///< [columns x labels]
  std::vector<double> bias;     ///< [labels]
};

/// Minimizes sum_i s_i (-log p(y_i | x_i)) + l2 / 2 |W|^2 with p(c | x) proportional to exp(x W_c + b_c), where s_i is
/// the weight of row i. The gradient of each column is divided by a bound of its curvature, and steps are accelerated
/// (Nesterov 1983) with restarts (O'Donoghue & Candes 2015). Ends after `iterations` or if a step no longer changes the
/// weights. Uses memory for four copies of the weights. The result does not depend on threads.
LogisticWeights fit_logistic_regression(const SparseRows& rows, const std::vector<std::int32_t>& labels,
                                        Index label_count, const std::vector<double>& row_weights, double l2,
                                        Index iterations);

}  // namespace unfold
