#pragma once
/// The product of a number with the sum of the rows of a matrix: y = x sum_i W_i, for x of one component. It is the
/// term of an affine map that reads `rows` components with equal values, without a product for each of them.

#include <memory>

#include "unfold/graph/circuit/operator.h"

namespace unfold {

std::shared_ptr<const Operator> row_sums(Index rows, Index outputs);

}  // namespace unfold
