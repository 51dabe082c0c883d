#pragma once
/// Cholesky factorization for the matrices of metrics.

#include "unfold/base/types.h"

namespace unfold {

/// Computes the Cholesky factor of a [n x n] in place. If moduli differ by many orders of magnitude, the damping can be
/// lost to rounding. If the matrix is then not positive definite, its diagonal is increased by a small fraction of the
/// largest entry. The result is NaN if the matrix is not finite.
void raised_factor(double* a, Index n);

}  // namespace unfold
