#pragma once
/// Factors of the matrices of metrics.

#include "unfold/base/types.h"

namespace unfold {

/// Cholesky factor of a [n x n], in place. Moduli of many orders of magnitude can drown the damping: where rounding has
/// left the matrix not positive, its diagonal is raised by a little of the largest entry. NaN where it is not finite.
void raised_factor(double* a, Index n);

}  // namespace unfold
