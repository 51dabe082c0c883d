#pragma once
/// Internal: scratch memory and views of one row, for rows.h.

#include <span>

#include "unfold/base/types.h"
#include "unfold/base/views.h"

namespace unfold {

/// Returns thread-local memory for one row; the next call for the same `user` overwrites it. Allocates only when it
/// grows.
template <class T, int user = 0>
T* row_scratch(Index n) {
  thread_local Buffer<T> memory;
  if (memory.size() < n) memory.resize(n);
  return memory.data();
}

template <class T>
std::span<const T> span_of(const T* x, Index n) {
  return {x, static_cast<std::size_t>(n)};
}

template <class T>
void set_row(T* row, Index n, T value) {
  for (Index i = 0; i < n; ++i) row[i] = value;
}

}  // namespace unfold
