// Performance bound: reading the weights at the bandwidth of the cache into which they fit.

#include "numerics/bound_affine.h"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/bound_affine.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/fma-inl.h"

#ifndef UNFOLD_NUMERICS_BOUND_AFFINE_ONCE
#define UNFOLD_NUMERICS_BOUND_AFFINE_ONCE
namespace unfold {

/// The columns of a strip are padded with zeros to lines of 64 bytes, which are whole vectors on every target.
template <class T>
inline constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));

template <class T>
struct AffineKernels {
  void (*run)(const AffineJob<T>&, bool backwards);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Computes the sums of kLines whole lines of columns from `column` on, starting from `start` plus the elements of
/// `rows`.
template <class T, Index kLines>
HWY_INLINE void run_lines(const AffineJob<T>& job, const T* start, const std::vector<const T*>* rows, Index column,
                          T* y) {
  const hn::CappedTag<T, kLine<T>> d;
  constexpr Index kL = static_cast<Index>(hn::MaxLanes(hn::CappedTag<T, kLine<T>>()));
  constexpr int kVectors = static_cast<int>(kLines * kLine<T> / kL);
  hn::Vec<decltype(d)> sum[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) sum[v] = start != nullptr ? hn::LoadU(d, start + v * kL) : hn::Zero(d);
  if (rows != nullptr) {
    for (const T* row : *rows) {
      if (row == nullptr) continue;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, row + column + v * kL));
    }
  }
  const T* HWY_RESTRICT w = job.weights + column * job.k;
  for (const auto& input : *job.inputs) {
    const T* const end = input.x + input.k;
#pragma GCC unroll 4
    for (const T* x = input.x; x != end; ++x, w += kVectors * kL) {
      const auto a = hn::Set(d, *x);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[v] = Fma(d, a, hn::Load(d, w + v * kL), sum[v]);
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, y + v * kL);
}

/// Runs one strip. If its last line is not full, the strip goes through a local buffer.
template <class T, Index kLines>
void run_strip(const AffineJob<T>& job, Index column) {
  const Index columns = std::min(BoundAffine<T>::kStrip, job.n - column);
  const T* const start = job.start != nullptr ? job.start + column : nullptr;
  if (columns % kLine<T> == 0) return run_lines<T, kLines>(job, start, job.rows, column, job.y + column);
  HWY_ALIGN T sums[kLines * kLine<T>] = {};
  if (start != nullptr) std::copy_n(start, columns, sums);
  for (const T* row : *job.rows)
    for (Index j = 0; j < columns && row != nullptr; ++j) sums[j] += row[column + j];
  run_lines<T, kLines>(job, sums, nullptr, column, sums);
  std::copy_n(sums, columns, job.y + column);
}

template <class T>
void run_affine(const AffineJob<T>& job, bool backwards) {
  constexpr Index kStrip = BoundAffine<T>::kStrip;
  static_assert(kStrip == 4 * kLine<T>);
  const Index strips = (job.n + kStrip - 1) / kStrip;
  for (Index i = 0; i < strips; ++i) {
    const Index column = (backwards ? strips - 1 - i : i) * kStrip;
    switch ((std::min(kStrip, job.n - column) + kLine<T> - 1) / kLine<T>) {
      case 1: run_strip<T, 1>(job, column); break;
      case 2: run_strip<T, 2>(job, column); break;
      case 3: run_strip<T, 3>(job, column); break;
      default: run_strip<T, 4>(job, column);
    }
  }
}

template <class T>
constexpr AffineKernels<T> kAffineKernels = {run_affine<T>};
UNFOLD_TARGET_TABLE(AffineKernels, kAffineKernels);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(AffineKernels, affine_kernels);

template <class T>
Index in_whole_lines(Index columns) {
  return (columns + kLine<T> - 1) / kLine<T> * kLine<T>;
}

}  // namespace

template <class T>
BoundAffine<T>::BoundAffine(const T* start, std::vector<BoundLookup<T>> lookups, const std::vector<BoundTerm<T>>& terms,
                            T* y, Index n)
    : start_(start), lookups_(std::move(lookups)), rows_(lookups_.size()), n_(n), y_(y), run_(affine_kernels<T>().run) {
  for (const BoundTerm<T>& term : terms) {
    inputs_.push_back({term.x, term.w.rows});
    k_ += term.w.rows;
  }
  weights_.resize(k_ * in_whole_lines<T>(n));
  T* to = weights_.data();
  for (Index column = 0; column < n; column += kStrip) {
    const Index columns = std::min(kStrip, n - column);
    for (const BoundTerm<T>& term : terms)
      for (Index i = 0; i < term.w.rows; ++i, to += in_whole_lines<T>(columns))
        std::copy_n(term.w.row(i) + column, columns, to);
  }
}

template <class T>
void BoundAffine<T>::operator()() {
  for (std::size_t i = 0; i < lookups_.size(); ++i) {
    const Symbol symbol = *lookups_[i].symbol;
    rows_[i] = symbol == kNoSymbol ? nullptr : lookups_[i].w.row(symbol);
  }
  run_({start_, &rows_, &inputs_, weights_.data(), y_, k_, n_}, backwards_);
  backwards_ = !backwards_;
}

template class BoundAffine<float>;
template class BoundAffine<double>;

}  // namespace unfold
#endif  // HWY_ONCE
