#pragma once
/// Rows brought to mean 0 and variance 1, z = (x - mean(x)) / sqrt(variance(x) + 1e-5), and what layer normalisation
/// (circuit/layer_norm.cpp) makes of them: with gains g and d = x - mean(x), s = 1 / sqrt(mean(d^2) + 1e-5),
///
///   y_i += g_i z_i;   dx (=|+=) s (e - mean(e) - z mean(e z)), e = g dy;   dg_i += z_i dy_i.
///
/// Law 2: rows never meet but in dg, from the last to the first; the sums of a row are those of vector.h, and nothing
/// is fused: each function has the bits of the same steps written out with sum, dot and plain loops.

#include "unfold/base/views.h"

namespace unfold {

/// z of a row of n numbers; returns s.
template <class T>
T normalise(const T* x, Index n, T* z);

/// Every row of x, added to y. `z`: room for a row, as in what follows.
template <class T>
void add_normalised(Matrix<const T> x, const T* gain, Matrix<T> y, T* z);

/// The adjoint of x from that of y. `sets`: dx is overwritten, else added to. `scratch`: room for two rows.
template <class T>
void normalised_adjoint(Matrix<const T> x, const T* gain, Matrix<const T> dy, Matrix<T> dx, bool sets, T* scratch);

/// dg of all rows, the last first.
template <class T>
void add_normalised_gradient(Matrix<const T> x, Matrix<const T> dy, T* dg, T* z);

/// e becomes e - mean(e) - z mean(e z): what of a change of x is left when mean and deviation are kept.
template <class T>
void take_out_moments(const T* z, Index n, T* e);

}  // namespace unfold
