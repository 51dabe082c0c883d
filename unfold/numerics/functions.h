#pragma once
/// Vector functions on contiguous arrays; y may be x. Same bits for every vector width and machine (law 2).
/// Largest errors over the whole domain, in units in the last place (tests/numerics measures and asserts them):
///   (table filled by the implementation: function, float, double)
/// Infinities, NaN, signed zeros and denormals behave as in the C library's functions.

#include "unfold/numerics/views.h"

namespace unfold {

template <class T> void vector_exp(const T* x, T* y, Index n);
template <class T> void vector_log(const T* x, T* y, Index n);
template <class T> void vector_tanh(const T* x, T* y, Index n);
template <class T> void vector_sigmoid(const T* x, T* y, Index n);
template <class T> void vector_softplus(const T* x, T* y, Index n);

/// log(sum_i exp(x_i)); -inf for n == 0 or all -inf.
template <class T> T log_sum_exp(const T* x, Index n);
/// In place: x becomes log softmax(x) per row / probabilities; returns nothing, one row at a time, sums in fixed virtual lanes.
template <class T> void log_softmax(const T* x, T* y, Index n);
template <class T> void softmax(const T* x, T* y, Index n);

}  // namespace unfold
