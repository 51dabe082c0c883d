// Sums of whole rows: symbol lookups, their gradients, and gradients of biases. Performance bound: bytes read and
// written. Each operation adds one element to another, so only the order of the rows affects the rounding.

#include <algorithm>
#include <cassert>

#include "unfold/numerics/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/rows.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_ROWS_ONCE
#define UNFOLD_NUMERICS_ROWS_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target), for `n` elements.
template <class T>
struct RowOperations {
  void (*add)(const T* x, const T* y, T* sum, Index n);  // sum = x + y; sum may be x
  // rows in reverse order, from last_row
  void (*add_column_sums)(const T* last_row, Index stride, Index rows, T* sums, Index n);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

template <class T>
struct AddBody {
  const T *x, *y;
  T* sum;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Add(place.load(d, x + i), place.load(d, y + i)), d, sum + i);
  }
};

template <class T>
void add_arrays(const T* x, const T* y, T* sum, Index n) {
  for_each_vector<T>(n, AddBody<T>{x, y, sum});
}

/// Adds column sums in strips that stay in registers during the loop over rows.
template <class T>
void add_column_sums(const T* last_row, Index stride, Index rows, T* sums, Index n) {
  constexpr int kVectors = 4;
  const hn::ScalableTag<T> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  Index c = 0;
  for (; c + kVectors * width <= n; c += kVectors * width) {
    auto s0 = hn::LoadU(d, sums + c), s1 = hn::LoadU(d, sums + c + width), s2 = hn::LoadU(d, sums + c + 2 * width),
         s3 = hn::LoadU(d, sums + c + 3 * width);
    const T* row = last_row + c;
    for (Index r = 0; r < rows; ++r, row -= stride) {
      s0 = hn::Add(s0, hn::LoadU(d, row)), s1 = hn::Add(s1, hn::LoadU(d, row + width));
      s2 = hn::Add(s2, hn::LoadU(d, row + 2 * width)), s3 = hn::Add(s3, hn::LoadU(d, row + 3 * width));
    }
    hn::StoreU(s0, d, sums + c), hn::StoreU(s1, d, sums + c + width);
    hn::StoreU(s2, d, sums + c + 2 * width), hn::StoreU(s3, d, sums + c + 3 * width);
  }
  for (Index r = 0; c < n && r < rows; ++r) add_arrays(sums + c, last_row - r * stride + c, sums + c, n - c);
}

template <class T>
constexpr RowOperations<T> kRowOperations = {add_arrays<T>, add_column_sums<T>};
UNFOLD_TARGET_TABLE(RowOperations, kRowOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(RowOperations, operations);

}  // namespace

template <class T>
void accumulate_columns(Matrix<const T> d, T* g, Range cols, Start start) {
  assert(start != Start::bias);
  if (start == Start::zero) std::fill(g + cols.begin, g + cols.end, T(0));
  if (d.rows == 0 || cols.empty()) return;
  operations<T>().add_column_sums(d.row(d.rows - 1) + cols.begin, d.stride, d.rows, g + cols.begin, cols.size());
}

template <class T>
void add_rows(Matrix<const T> w, const Symbol* symbols, Matrix<T> c, Range cols, Start start, const T* bias) {
  const auto add = operations<T>().add;
  for (Index r = 0; r < c.rows; ++r) {
    T* const to = c.row(r) + cols.begin;
    if (start == Start::zero) std::fill_n(to, cols.size(), T(0));
    const T* const before = start == Start::bias ? bias + cols.begin : to;
    if (symbols[r] == kNoSymbol) {
      if (before != to) std::copy_n(before, cols.size(), to);
      continue;
    }
    assert(symbols[r] >= 0 && symbols[r] < w.rows);
    add(before, w.row(symbols[r]) + cols.begin, to, cols.size());
  }
}

template <class T>
void scatter_rows(Matrix<const T> d, const Symbol* symbols, Matrix<T> g, Range cols) {
  const auto add = operations<T>().add;
  for (Index r = d.rows; r-- > 0;) {
    if (symbols[r] == kNoSymbol) continue;
    assert(symbols[r] >= 0 && symbols[r] < g.rows);
    T* const to = g.row(symbols[r]) + cols.begin;
    add(to, d.row(r) + cols.begin, to, cols.size());
  }
}

#define UNFOLD_INSTANTIATE(T)                                                                \
  template void accumulate_columns(Matrix<const T>, T*, Range, Start);                       \
  template void add_rows(Matrix<const T>, const Symbol*, Matrix<T>, Range, Start, const T*); \
  template void scatter_rows(Matrix<const T>, const Symbol*, Matrix<T>, Range);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
