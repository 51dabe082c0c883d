#pragma once
/// Vectorized functions on contiguous arrays; y may be x. Results are bit-identical for every vector width and machine
/// (invariant 2) and do not depend on the position of the element in the array.
///
/// Largest errors over the whole domain, including denormal arguments and results, in units in the last place of the
/// exact result. They were measured over every seventh float and ten million doubles; the bounds that
/// tests/numerics/functions_test.cpp asserts are in brackets:
///
///              float        double
///   exp        1.04 (1.1)   1.04 (1.1)
///   log        0.86 (0.9)   0.81 (0.9)
///   tanh       1.34 (1.4)   1.37 (1.5)
///   sigmoid    2.33 (2.4)   2.39 (2.5)    relative accuracy also for very negative arguments
///   softplus   1.68 (1.8)   1.65 (1.8)    close to exp(x) for very negative x, to x for large ones
///
/// Infinities, NaN, signed zeros and denormals are handled as in the C library. See functions-inl.h for the
/// polynomials, their ranges and the origin of the coefficients.

#include "unfold/base/views.h"

namespace unfold {

template <class T>
void vector_exp(const T* x, T* y, Index n);
template <class T>
void vector_log(const T* x, T* y, Index n);
template <class T>
void vector_tanh(const T* x, T* y, Index n);
template <class T>
void vector_sigmoid(const T* x, T* y, Index n);
template <class T>
void vector_softplus(const T* x, T* y, Index n);

/// Returns log(sum_i exp(x_i)); -inf if n == 0 or if all elements are -inf.
template <class T>
T log_sum_exp(const T* x, Index n);
/// y = log softmax(x) and y = softmax(x) of one row; y may be x. Sums use 16 fixed virtual lanes of T. A row whose
/// largest element is infinite does not define a distribution: its results are NaN.
template <class T>
void log_softmax(const T* x, T* y, Index n);
template <class T>
void softmax(const T* x, T* y, Index n);

}  // namespace unfold
