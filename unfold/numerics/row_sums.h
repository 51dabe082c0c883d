#pragma once
/// Sums of scaled rows, and products of one vector with many rows: what nets over the numbers of a vector need, where a
/// vector meets a few rows of weights only (densities/nade_net.cpp). Several rows are worked on together, so that what
/// they share stays in registers.
///
/// Law 2: each product has the bits of `dot` (vector.h), each sum those of `axpy` row after row.

#include "unfold/base/views.h"

namespace unfold {

/// out[j] = the product of row j and h, for j < count; rows of n numbers lie n apart.
template <class T>
void row_products(const T* rows, Index count, const T* h, Index n, T* out);

/// y += a[0] rows[0] + a[1] rows[1] + ..., in this order, of n numbers each.
template <class T>
void add_scaled_rows(const T* a, const T* const* rows, Index count, T* y, Index n);

/// y += a row, out = sigmoid(y), component by component: one row more, and through the sigmoid.
template <class T>
void add_row_and_sigmoid(T a, const T* row, T* y, T* out, Index n);

/// y += h (1 - h) v, component by component: back through the sigmoid that gave h. What y is then is added to `sum`,
/// times a, and v begins at 0 again.
template <class T>
void add_sigmoid_slopes(const T* h, T* v, T* y, T a, T* sum, Index n);

}  // namespace unfold
