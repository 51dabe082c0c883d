// Floor: the weights at the rate of the cache that they fit.

#include "unfold/numerics/row_product.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unfold/numerics/row_product.cpp"
#include "unfold/numerics/targets-inl.h"
// The targets before Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "unfold/numerics/fma-inl.h"

#ifndef UNFOLD_NUMERICS_ROW_PRODUCT_ONCE
#define UNFOLD_NUMERICS_ROW_PRODUCT_ONCE
namespace unfold {

/// Columns of a strip come in lines of 64 bytes, the last one filled with zeros: whole vectors of every target.
template <class T>
inline constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));

template <class T>
struct RowKernels {
  void (*product)(const RowProductJob<T>&, bool backwards);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// y = start + x W for so many lines of columns, all of them there.
template <class T, Index kLines>
void run_strip(const RowProductJob<T>& job) {
  const hn::CappedTag<T, kLine<T>> d;
  constexpr Index kL = static_cast<Index>(hn::MaxLanes(hn::CappedTag<T, kLine<T>>()));
  constexpr int kVectors = static_cast<int>(kLines * kLine<T> / kL);
  hn::Vec<decltype(d)> sum[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) sum[v] = job.start != nullptr ? hn::LoadU(d, job.start + v * kL) : hn::Zero(d);
  const T* HWY_RESTRICT w = job.weights;
  const T* const end = job.x + job.k;
#pragma GCC unroll 4
  for (const T* x = job.x; x != end; ++x, w += kVectors * kL) {
    const auto a = hn::Set(d, *x);
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sum[v] = Fma(d, a, hn::Load(d, w + v * kL), sum[v]);
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, job.y + v * kL);
}

/// A strip whose last line is not whole goes through memory of its own.
template <class T, Index kLines>
void run_partial_strip(const RowProductJob<T>& job) {
  HWY_ALIGN T sums[kLines * kLine<T>] = {};
  if (job.start != nullptr) std::copy_n(job.start, job.n, sums);
  RowProductJob<T> whole = job;
  whole.start = whole.y = sums;
  run_strip<T, kLines>(whole);
  std::copy_n(sums, job.n, job.y);
}

template <class T>
void run_last_strip(const RowProductJob<T>& job) {
  static_assert(RowProduct<T>::kStrip == 4 * kLine<T>);
  const bool whole = job.n % kLine<T> == 0;
  switch ((job.n + kLine<T> - 1) / kLine<T>) {
    case 1: return whole ? run_strip<T, 1>(job) : run_partial_strip<T, 1>(job);
    case 2: return whole ? run_strip<T, 2>(job) : run_partial_strip<T, 2>(job);
    case 3: return whole ? run_strip<T, 3>(job) : run_partial_strip<T, 3>(job);
    default: return whole ? run_strip<T, 4>(job) : run_partial_strip<T, 4>(job);
  }
}

template <class T>
void row_product(const RowProductJob<T>& job, bool backwards) {
  constexpr Index kStrip = RowProduct<T>::kStrip;
  const Index strips = (job.n + kStrip - 1) / kStrip;
  for (Index i = 0; i < strips; ++i) {
    const Index column = (backwards ? strips - 1 - i : i) * kStrip;
    const RowProductJob<T> strip{.x = job.x,
                                 .weights = job.weights + column * job.k,
                                 .start = job.start != nullptr ? job.start + column : nullptr,
                                 .y = job.y + column,
                                 .k = job.k,
                                 .n = std::min(kStrip, job.n - column)};
    strip.n == kStrip ? run_strip<T, 4>(strip) : run_last_strip<T>(strip);
  }
}

template <class T>
constexpr RowKernels<T> kRowKernels = {row_product<T>};
UNFOLD_TARGET_TABLE(RowKernels, kRowKernels);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(RowKernels, row_kernels);

}  // namespace

template <class T>
RowProduct<T>::RowProduct(Matrix<const T> w)
    : k_(w.rows),
      n_(w.cols),
      weights_(w.rows * ((w.cols + kLine<T> - 1) / kLine<T> * kLine<T>)),
      run_(row_kernels<T>().product) {
  T* to = weights_.data();
  for (Index column = 0; column < n_; column += kStrip) {
    const Index columns = std::min(kStrip, n_ - column), width = (columns + kLine<T> - 1) / kLine<T> * kLine<T>;
    for (Index i = 0; i < k_; ++i, to += width) std::copy_n(w.row(i) + column, columns, to);
  }
}

template class RowProduct<float>;
template class RowProduct<double>;

}  // namespace unfold
#endif  // HWY_ONCE
