#pragma once
/// Element-wise arithmetic of matrices with rows of any stride, in vectors.

#include "unfold/base/views.h"

namespace unfold {

/// y += x.
template <class T>
void add_matrix(Matrix<const T> x, Matrix<T> y);

/// y = x^2, element by element.
template <class T>
void square_elements(Matrix<const T> x, Matrix<T> y);

}  // namespace unfold
