#pragma once
/// Internal: transposes small blocks of a matrix.

#include <cstring>

#include "unfold/base/views.h"

namespace unfold {

/// Transposes four rows of four with vectors that every target has: to[c][r] = rows[r][c].
template <class T>
void transpose_4x4(const T* const (&rows)[4], T* to, Index to_stride) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  Four row[4];
  for (Index r = 0; r < 4; ++r) std::memcpy(&row[r], rows[r], sizeof(Four));
  const Four low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Four high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Four column[4] = {
      __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
      __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (Index c = 0; c < 4; ++c) std::memcpy(to + c * to_stride, &column[c], sizeof(Four));
}

/// to[c][r] = from[r][c].
template <class T>
void transpose_4x4(const T* from, Index from_stride, T* to, Index to_stride) {
  transpose_4x4<T>({from, from + from_stride, from + 2 * from_stride, from + 3 * from_stride}, to, to_stride);
}

}  // namespace unfold
