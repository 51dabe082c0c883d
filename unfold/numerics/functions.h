#pragma once
/// Vector functions on contiguous arrays; y may be x. Same bits for every vector width and machine (law 2), and for an
/// element alone or anywhere in an array.
///
/// Largest errors over the whole domain, denormal arguments and results included, in units in the last place of the
/// exact result (measured over every seventh float and ten million doubles; the bounds that
/// tests/numerics/functions_test.cpp asserts are in brackets):
///
///              float        double
///   exp        1.04 (1.1)   1.04 (1.1)
///   log        0.86 (0.9)   0.81 (0.9)
///   tanh       1.34 (1.4)   1.37 (1.5)
///   sigmoid    2.33 (2.4)   2.39 (2.5)    relative accuracy also for very negative arguments
///   softplus   1.68 (1.8)   1.65 (1.8)    close to exp(x) for very negative x, to x for large ones
///
/// Infinities, NaN, signed zeros and denormals behave as in the C library's functions. No tables; the ranges,
/// polynomials and where their coefficients come from are in functions-inl.h.

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

/// log(sum_i exp(x_i)); -inf for n == 0 or all -inf.
template <class T>
T log_sum_exp(const T* x, Index n);
/// y = log softmax(x) and y = softmax(x) of one row; y may be x. Sums in 16 fixed virtual lanes of T. A row whose
/// largest element is infinite has no distribution: its results are NaN.
template <class T>
void log_softmax(const T* x, T* y, Index n);
template <class T>
void softmax(const T* x, T* y, Index n);

}  // namespace unfold
