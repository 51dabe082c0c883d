#pragma once
/// Sums of scaled rows, and products of one vector with many rows. They are used by networks over the elements of a
/// vector, which combine a vector with only a few rows of weights (loss/density/nade_net.cpp). Several rows are
/// processed together, so shared operands stay in registers.
///
/// Determinism (invariant 2): each product is bit-identical to `dot` (vector.h), and each sum is bit-identical to
/// `axpy` row after row.

#include "unfold/base/views.h"

namespace unfold {

/// out[j] = the dot product of row j and h, for j < count; rows of n elements are contiguous.
template <class T>
void row_products(const T* rows, Index count, const T* h, Index n, T* out);

/// y += a[0] rows[0] + a[1] rows[1] + ..., in this order; each row has n elements.
template <class T>
void add_scaled_rows(const T* a, const T* const* rows, Index count, T* y, Index n);

/// y += a row, then out = sigmoid(y), element by element.
template <class T>
void add_row_and_sigmoid(T a, const T* row, T* y, T* out, Index n);

/// Backward pass of add_row_and_sigmoid, element by element: y += h (1 - h) v, where h is the output of the sigmoid;
/// then sum += a y, and v is reset to 0.
template <class T>
void add_sigmoid_slopes(const T* h, T* v, T* y, T a, T* sum, Index n);

}  // namespace unfold
