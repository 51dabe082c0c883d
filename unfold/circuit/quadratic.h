#pragma once
/// The quadratic form of a vector for each output, the tensor term of recursive networks (Socher et al. 2013):
///
///   y_k += scale x' V_k x = scale sum over i <= j of V_(ij)k x_i x_j
///
///   Term{.parameter = "V", .source = both, .init = Init::uniform(0.01), .op = quadratic_form(both.size(), n, 0.1)}
///
/// There are so many weights that optimisers which move each by as much want a small scale: 1 / inputs moves y_k about
/// as far as a matrix would. V_k and its transpose say the same, so one weight stands for both. Its parameter is
/// [inputs (inputs + 1) / 2 x outputs], rows by i, then by j. These are no weights on edges between units: modulus and
/// path refuse it by name.
///
/// Law 2: a sum over pairs runs from the last to the first.

#include <memory>

#include "unfold/circuit/operator.h"

namespace unfold {

/// Throws UsageError for sizes below 1 or so large that the pairs cannot be counted.
std::shared_ptr<const Operator> quadratic_form(Index inputs, Index outputs, double scale = 1);

}  // namespace unfold
