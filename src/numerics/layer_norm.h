#pragma once
/// Normalization of rows to mean 0 and variance 1, z = (x - mean(x)) / sqrt(variance(x) + 1e-5), and the operations of
/// layer normalization (graph/circuit/layer_norm_operator.cpp). Let g be the gains, d = x - mean(x) and s = 1 /
/// sqrt(mean(d^2) + 1e-5). Then
///
///   y_i += g_i z_i;   dx (=|+=) s (e - mean(e) - z mean(e z)), e = g dy;   dg_i += z_i dy_i.
///
/// Determinism (invariant 2): rows are independent except in dg, which adds them from the last to the first. Sums of a
/// row are computed as in vector.h, and no operations are fused: each function is bit-identical to the same steps
/// written with sum, dot and plain loops.

#include "unfold/base/views.h"

namespace unfold {

/// Computes z of a row of n elements; returns s.
template <class T>
T normalize(const T* x, Index n, T* z);

/// y += g z for every row of x. `z` is scratch memory of one row, here and below.
template <class T>
void add_normalized(Matrix<const T> x, const T* gain, Matrix<T> y, T* z);

/// Computes the adjoint of x from the adjoint of y. If `sets`, dx is overwritten instead of added to. `scratch` has two
/// rows.
template <class T>
void normalized_adjoint(Matrix<const T> x, const T* gain, Matrix<const T> dy, Matrix<T> dx, bool sets, T* scratch);

/// Adds the gradient of the gains over all rows, the last row first.
template <class T>
void add_normalized_gradient(Matrix<const T> x, Matrix<const T> dy, T* dg, T* z);

/// Replaces e by e - mean(e) - z mean(e z), the component of a change of x that leaves mean and standard deviation
/// constant.
template <class T>
void project_out_moments(const T* z, Index n, T* e);

}  // namespace unfold
