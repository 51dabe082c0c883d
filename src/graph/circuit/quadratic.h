#pragma once
/// A quadratic form of a vector for each output: the tensor term of recursive networks (Socher et al. 2013).
///
///   y_k += scale x' V_k x = scale sum over i <= j of V_(ij)k x_i x_j
///
///   Term{.parameter = "V", .source = both, .init = Init::uniform(0.01), .op = quadratic_form(both.size(), n, 0.1)}
///
/// Because there are many weights, optimizers that change every weight by the same amount need a small scale: with 1 /
/// inputs, y_k changes about as much as with a matrix. V_k and its transpose are equivalent, so one weight represents
/// both. The parameter is [inputs (inputs + 1) / 2 x outputs], with rows ordered by i, then by j. These are not weights
/// on edges between units: the modulus and path passes raise an error that names the operator.
///
/// Determinism (invariant 2): sums over pairs run from the last to the first.

#include <memory>

#include "unfold/graph/circuit/operator.h"

namespace unfold {

/// Throws UsageError if a size is below 1 or if the number of pairs overflows.
std::shared_ptr<const Operator> quadratic_form(Index inputs, Index outputs, double scale = 1);

}  // namespace unfold
