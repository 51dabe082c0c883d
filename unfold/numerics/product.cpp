#include "unfold/numerics/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unfold/numerics/product.cpp"
#include "unfold/numerics/targets-inl.h"  // first: it says what Highway compiles for

#include "hwy/foreach_target.h"  // then this, which includes this file again for each target

#include "unfold/numerics/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

// Tables of functions for each target want plain names.
void MultiplyFloat(const MultiplyJob<float>& job) { multiply_all(job); }
void MultiplyDouble(const MultiplyJob<double>& job) { multiply_all(job); }
void OuterFloat(const OuterJob<float>& job) { outer_all(job); }
void OuterDouble(const OuterJob<double>& job) { outer_all(job); }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cassert>

namespace unfold {

HWY_EXPORT(MultiplyFloat);
HWY_EXPORT(MultiplyDouble);
HWY_EXPORT(OuterFloat);
HWY_EXPORT(OuterDouble);

template <class T>
T* product_scratch(int slot, Index elements) {
  static thread_local Buffer<T> memory[2];
  if (memory[slot].size() < elements) memory[slot].resize(elements);
  return memory[slot].data();
}

template <class T>
void PackedMatrix<T>::resize(Index k, Index n) {
  k_ = k;
  n_ = n;
  if (data_.size() != panels() * kPanel * k) data_.resize(panels() * kPanel * k);
}

template <class T>
void PackedMatrix<T>::pack(Matrix<const T> w, Range panels) {
  assert(w.rows == k_ && w.cols == n_);
  for (Index p = panels.begin; p < panels.end; ++p) {
    const Index columns = std::min(kPanel, n_ - p * kPanel);
    T* to = data_.data() + p * kPanel * k_;
    for (Index k = 0; k < k_; ++k, to += kPanel) {
      std::copy_n(w.row(k) + p * kPanel, columns, to);
      std::fill(to + columns, to + kPanel, T(0));
    }
  }
}

template <class T>
void PackedMatrix<T>::pack_transposed(Matrix<const T> w, Range panels) {
  assert(w.rows == n_ && w.cols == k_);
  constexpr Index kChunk = 64 / static_cast<Index>(sizeof(T));  // a cache line of each row of w at a time
  for (Index p = panels.begin; p < panels.end; ++p) {
    const Index columns = std::min(kPanel, n_ - p * kPanel);
    T* const panel = data_.data() + p * kPanel * k_;
    for (Index begin = 0; begin < k_; begin += kChunk) {
      const Index end = std::min(begin + kChunk, k_);
      for (Index j = 0; j < columns; ++j) {
        const T* const from = w.row(p * kPanel + j);
        for (Index k = begin; k < end; ++k) panel[k * kPanel + j] = from[k];
      }
      for (Index k = begin; k < end; ++k) std::fill(panel + k * kPanel + columns, panel + (k + 1) * kPanel, T(0));
    }
  }
}

template <class T>
void multiply(Matrix<const T> a, const PackedMatrix<T>& b, Matrix<T> c, const Panels& panels, Start start,
              const T* bias) {
  assert(a.rows == c.rows && a.cols == b.k() && c.cols == b.n());
  assert(start != Start::bias || bias != nullptr);
  const MultiplyJob<T> job{a, b, c, panels, start, bias};
  if constexpr (sizeof(T) == 4) {
    HWY_DYNAMIC_DISPATCH(MultiplyFloat)(job);
  } else {
    HWY_DYNAMIC_DISPATCH(MultiplyDouble)(job);
  }
}

template <class T>
void accumulate_outer(Matrix<const T> a, Matrix<const T> d, Matrix<T> g, Range k_range, Start start) {
  assert(a.rows == d.rows && g.rows == a.cols && g.cols == d.cols);
  assert(start != Start::bias);
  if (k_range.empty()) return;
  if (a.rows == 0) {
    for (Index k = k_range.begin; start == Start::zero && k < k_range.end; ++k) std::fill_n(g.row(k), g.cols, T(0));
    return;
  }
  const OuterJob<T> job{a, d, g, k_range, start};
  if constexpr (sizeof(T) == 4) {
    HWY_DYNAMIC_DISPATCH(OuterFloat)(job);
  } else {
    HWY_DYNAMIC_DISPATCH(OuterDouble)(job);
  }
}

// The loops below add element by element, without products: any vectorisation by the compiler gives the same bits.

template <class T>
void accumulate_columns(Matrix<const T> d, T* g, Range cols, Start start) {
  assert(start != Start::bias);
  if (start == Start::zero) std::fill(g + cols.begin, g + cols.end, T(0));
  for (Index r = d.rows; r-- > 0;) {
    const T* const row = d.row(r);
    for (Index c = cols.begin; c < cols.end; ++c) g[c] += row[c];
  }
}

template <class T>
void add_rows(Matrix<const T> w, const Symbol* symbols, Matrix<T> c, Range cols, Start start, const T* bias) {
  for (Index r = 0; r < c.rows; ++r) {
    T* const to = c.row(r);
    if (start == Start::zero) std::fill(to + cols.begin, to + cols.end, T(0));
    if (start == Start::bias) std::copy(bias + cols.begin, bias + cols.end, to + cols.begin);
    if (symbols[r] == kNoSymbol) continue;
    assert(symbols[r] >= 0 && symbols[r] < w.rows);
    const T* const row = w.row(symbols[r]);
    for (Index j = cols.begin; j < cols.end; ++j) to[j] += row[j];
  }
}

template <class T>
void scatter_rows(Matrix<const T> d, const Symbol* symbols, Matrix<T> g, Range cols) {
  for (Index r = d.rows; r-- > 0;) {
    if (symbols[r] == kNoSymbol) continue;
    assert(symbols[r] >= 0 && symbols[r] < g.rows);
    T* const to = g.row(symbols[r]);
    const T* const from = d.row(r);
    for (Index j = cols.begin; j < cols.end; ++j) to[j] += from[j];
  }
}

#define UNFOLD_INSTANTIATE(T)                                                                                 \
  template T* product_scratch(int, Index);                                                                    \
  template class PackedMatrix<T>;                                                                             \
  template void multiply(Matrix<const T>, const PackedMatrix<T>&, Matrix<T>, const Panels&, Start, const T*); \
  template void accumulate_outer(Matrix<const T>, Matrix<const T>, Matrix<T>, Range, Start);                  \
  template void accumulate_columns(Matrix<const T>, T*, Range, Start);                                        \
  template void add_rows(Matrix<const T>, const Symbol*, Matrix<T>, Range, Start, const T*);                  \
  template void scatter_rows(Matrix<const T>, const Symbol*, Matrix<T>, Range);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif
