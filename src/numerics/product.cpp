#include "unfold/numerics/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/product.cpp"
#include "numerics/targets-inl.h"  // must be first: selects the targets for Highway

#include "hwy/foreach_target.h"  // second: includes this file again for each target

#include "numerics/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

// The function tables of each target need non-template names.
void MultiplyFloat(const MultiplyJob<float>& job) { multiply_all(job); }
void MultiplyDouble(const MultiplyJob<double>& job) { multiply_all(job); }
void OuterFloat(const OuterJob<float>& job) { outer_all(job); }
void OuterDouble(const OuterJob<double>& job) { outer_all(job); }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cassert>

#include "numerics/bf16_kernels.h"
#include "numerics/transpose.h"
#include "unfold/numerics/bf16.h"

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
void PackedMatrix<T>::resize(Index k, Index n, Precision precision) {
  assert(precision == Precision::exact || sizeof(T) == sizeof(float));
  k_ = k;
  n_ = n;
  precision_ = precision;
  const bool exact = precision == Precision::exact;
  const Index numbers = exact ? panels() * kPanel * k : 0, pair_count = exact ? 0 : panels() * kPanel * ((k + 1) / 2);
  if (data_.size() != numbers) data_.resize(numbers);
  if (pairs_.size() != pair_count) pairs_.resize(pair_count);
}

/// Calls weight(column, columns, to) for every panel: `to` receives the pairs of the panel that begins at this column.
template <class T>
template <class Weight>
void PackedMatrix<T>::pack_pairs(const Weight& weight, Range panels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    for (Index p = panels.begin; p < panels.end; ++p)
      weight(p * kPanel, std::min(kPanel, n_ - p * kPanel), pairs_.data() + p * kPanel * ((k_ + 1) / 2));
  }
}

// Packing reads one or two cache lines of each row, and rows are pages apart. Hardware prefetchers do not follow this
// pattern, so both functions prefetch lines well ahead of their use.

template <class T>
void PackedMatrix<T>::pack(Matrix<const T> w, Range panels) {
  assert(w.rows == k_ && w.cols == n_);
  if (precision_ == Precision::bf16) return pack_pairs([&](auto... part) { pack_bf16_panel(w, part...); }, panels);
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T)), kRowsAhead = 16;
  for (Index p = panels.begin; p < panels.end; ++p) {
    const Index columns = std::min(kPanel, n_ - p * kPanel);
    T* to = data_.data() + p * kPanel * k_;
    for (Index k = 0; k < k_; ++k, to += kPanel) {
      for (Index j = 0; j < columns && k + kRowsAhead < k_; j += kLine)
        hwy::Prefetch(w.row(k + kRowsAhead) + p * kPanel + j);
      std::copy_n(w.row(k) + p * kPanel, columns, to);
      std::fill(to + columns, to + kPanel, T(0));
    }
  }
}

template <class T>
void PackedMatrix<T>::pack_transposed(Matrix<const T> w, Range panels) {
  assert(w.rows == n_ && w.cols == k_);
  if (precision_ == Precision::bf16)
    return pack_pairs([&](auto... part) { pack_transposed_bf16_panel(w, part...); }, panels);
  constexpr Index kChunk = 64 / static_cast<Index>(sizeof(T));  // one cache line of each row of w at a time
  for (Index p = panels.begin; p < panels.end; ++p) {
    const Index columns = std::min(kPanel, n_ - p * kPanel);
    T* const panel = data_.data() + p * kPanel * k_;
    for (Index begin = 0; begin < k_; begin += kChunk) {
      const Index end = std::min(begin + kChunk, k_);
      Index j = 0;
      for (; j + 4 <= columns; j += 4) {
        for (Index row = j; row < j + 4 && end < k_; ++row) hwy::Prefetch(w.row(p * kPanel + row) + end);
        Index k = begin;
        for (; k + 4 <= end; k += 4) transpose_4x4(w.row(p * kPanel + j) + k, w.stride, panel + k * kPanel + j, kPanel);
        for (; k < end; ++k)
          for (Index column = j; column < j + 4; ++column) panel[k * kPanel + column] = w(p * kPanel + column, k);
      }
      for (Index k = begin; k < end; ++k) {
        for (Index column = j; column < columns; ++column) panel[k * kPanel + column] = w(p * kPanel + column, k);
        std::fill(panel + k * kPanel + columns, panel + (k + 1) * kPanel, T(0));
      }
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
    if (b.precision() == Precision::bf16) return multiply_bf16(a, b, c, panels, start, bias);
    HWY_DYNAMIC_DISPATCH(MultiplyFloat)(job);
  } else {
    HWY_DYNAMIC_DISPATCH(MultiplyDouble)(job);
  }
}

template <class T>
void accumulate_outer(Matrix<const T> a, Matrix<const T> d, Matrix<T> g, Range k_range, Start start,
                      Precision precision) {
  assert(a.rows == d.rows && g.rows == a.cols && g.cols == d.cols);
  assert(start != Start::bias);
  if (k_range.empty()) return;
  if (a.rows == 0) {
    for (Index k = k_range.begin; start == Start::zero && k < k_range.end; ++k) std::fill_n(g.row(k), g.cols, T(0));
    return;
  }
  const OuterJob<T> job{a, d, g, k_range, start};
  if constexpr (sizeof(T) == 4) {
    if (precision == Precision::bf16) return accumulate_outer_bf16(a, d, g, k_range, start);
    HWY_DYNAMIC_DISPATCH(OuterFloat)(job);
  } else {
    HWY_DYNAMIC_DISPATCH(OuterDouble)(job);
  }
}

#define UNFOLD_INSTANTIATE(T)                                                                                 \
  template T* product_scratch(int, Index);                                                                    \
  template class PackedMatrix<T>;                                                                             \
  template void multiply(Matrix<const T>, const PackedMatrix<T>&, Matrix<T>, const Panels&, Start, const T*); \
  template void accumulate_outer(Matrix<const T>, Matrix<const T>, Matrix<T>, Range, Start, Precision);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif
