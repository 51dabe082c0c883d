// Sums of whole rows: symbol lookups, their gradients, and gradients of biases. Performance bound: bytes read and
// written. Each operation adds one element to another, so only the order of the rows affects the rounding.

#include <algorithm>
#include <cassert>
#include <type_traits>

#include "numerics/row_arithmetic.h"
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
  void (*add_matrix)(Matrix<const T> x, Matrix<T> y);
  void (*square)(Matrix<const T> x, Matrix<T> y);
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

/// Adds a strip of column sums, which stay in registers during the loop over rows. The last vector has `last` elements.
template <class T, int kVectors, class Last>
HWY_INLINE void add_strip(const T* row, Index stride, Index rows, T* sums, Last last) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  hn::Vec<decltype(d)> s[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    s[v] = v + 1 < kVectors ? hn::LoadU(d, sums + v * width) : last.load(d, sums + v * width);
  for (Index r = 0; r < rows; ++r, row -= stride) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      s[v] = hn::Add(s[v], v + 1 < kVectors ? hn::LoadU(d, row + v * width) : last.load(d, row + v * width));
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    if (v + 1 < kVectors)
      hn::StoreU(s[v], d, sums + v * width);
    else
      last.store(s[v], d, sums + v * width);
  }
}

template <class T>
void add_column_sums(const T* last_row, Index stride, Index rows, T* sums, Index n) {
  constexpr int kVectors = 4;
  const auto width = static_cast<Index>(hn::Lanes(hn::ScalableTag<T>()));
  Index c = 0;
  for (; c + kVectors * width <= n; c += kVectors * width)
    add_strip<T, kVectors>(last_row + c, stride, rows, sums + c, Whole{});
#if UNFOLD_SAFE_MASKS
  const Index rest = n - c;
  if (rest == 0) return;
  const auto add = [&](auto vectors) HWY_ATTR {
    constexpr int kCount = decltype(vectors)::value;
    const First last{static_cast<size_t>(rest - (kCount - 1) * width)};
    add_strip<T, kCount>(last_row + c, stride, rows, sums + c, last);
  };
  switch ((rest + width - 1) / width) {
    case 1: return add(std::integral_constant<int, 1>());
    case 2: return add(std::integral_constant<int, 2>());
    case 3: return add(std::integral_constant<int, 3>());
    default: return add(std::integral_constant<int, 4>());
  }
#else
  for (Index r = 0; c < n && r < rows; ++r) add_arrays(sums + c, last_row - r * stride + c, sums + c, n - c);
#endif
}

template <class T>
struct SquareElementsBody {
  const T* x;
  T* y;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto v = place.load(d, x + i);
    place.store(hn::Mul(v, v), d, y + i);
  }
};

template <class T>
void add_matrices(Matrix<const T> x, Matrix<T> y) {
  if (x.stride == x.cols && y.stride == y.cols) return add_arrays(y.data, x.data, y.data, y.rows * y.cols);
  for (Index r = 0; r < y.rows; ++r) add_arrays(y.row(r), x.row(r), y.row(r), y.cols);
}

template <class T>
void square_matrix(Matrix<const T> x, Matrix<T> y) {
  for (Index r = 0; r < y.rows; ++r) for_each_vector<T>(y.cols, SquareElementsBody<T>{x.row(r), y.row(r)});
}

template <class T>
constexpr RowOperations<T> kRowOperations = {add_arrays<T>, add_column_sums<T>, add_matrices<T>, square_matrix<T>};
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

template <class T>
void add_matrix(Matrix<const T> x, Matrix<T> y) {
  operations<T>().add_matrix(x, y);
}

template <class T>
void square_elements(Matrix<const T> x, Matrix<T> y) {
  operations<T>().square(x, y);
}

#define UNFOLD_INSTANTIATE(T)                                                                \
  template void add_matrix(Matrix<const T>, Matrix<T>);                                      \
  template void square_elements(Matrix<const T>, Matrix<T>);                                 \
  template void accumulate_columns(Matrix<const T>, T*, Range, Start);                       \
  template void add_rows(Matrix<const T>, const Symbol*, Matrix<T>, Range, Start, const T*); \
  template void scatter_rows(Matrix<const T>, const Symbol*, Matrix<T>, Range);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
