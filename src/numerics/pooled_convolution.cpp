#include "numerics/pooled_convolution.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/pooled_convolution.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/fma-inl.h"

#ifndef UNFOLD_NUMERICS_POOLED_CONVOLUTION_ONCE
#define UNFOLD_NUMERICS_POOLED_CONVOLUTION_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
struct ConvolutionOperations {
  decltype(convolve)* outputs;
  decltype(pool_convolution)* pooled;
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

using ConvolutionTag = hn::CappedTag<float, kConvolutionLanes>;

/// Computes the output of one vector of lanes at center t.
template <class D>
HWY_INLINE hn::Vec<D> output_at(D d, Matrix<const float> x, const DilatedKernels& kernels, Index t, Index lane) {
  auto sum = hn::Zero(d);
  const float* weights = kernels.weights + lane;
  for (Index tap = 0; tap < kernels.taps; ++tap) {
    const Index position = t + (tap - kernels.taps / 2) * kernels.dilation;
    if (position < 0 || position >= x.rows) continue;
    const float *row = x.row(position), *w = weights + tap * x.cols * kernels.lanes;
    for (Index channel = 0; channel < x.cols; ++channel)
      sum = Fma(d, hn::Set(d, row[channel]), hn::LoadU(d, w + channel * kernels.lanes), sum);
  }
  return sum;
}

void all_outputs(Matrix<const float> x, const DilatedKernels& kernels, Range centers, float* c) {
  const ConvolutionTag d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  for (Index t = centers.begin; t < centers.end; ++t)
    for (Index lane = 0; lane < kernels.lanes; lane += width)
      hn::StoreU(output_at(d, x, kernels, t, lane), d, c + (t - centers.begin) * kernels.lanes + lane);
}

/// Statistics of one vector of lanes for one threshold.
template <class V>
struct Pooling {
  V threshold, count, excess, position, run, longest;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE void begin_pooling(D d, const float* threshold, Pooling<V>& p) {
  p.threshold = hn::LoadU(d, threshold);
  p.count = p.excess = p.position = p.run = p.longest = hn::Zero(d);
}

/// `place` is t + 1 in all lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void see(D d, V output, V place, V one, Pooling<V>& p) {
  const V excess = hn::Sub(output, p.threshold);
  const auto above = hn::Gt(output, p.threshold);
  p.count = hn::Add(p.count, hn::IfThenElseZero(above, one));
  p.excess = hn::Add(p.excess, hn::IfThenElseZero(above, excess));
  p.position = hn::Add(p.position, hn::IfThenElseZero(above, place));
  p.run = hn::IfThenElseZero(above, hn::Add(p.run, one));
  p.longest = hn::Max(p.longest, p.run);
  (void)d;
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void end_pooling(D d, const Pooling<V>& p, V n, Index stride, float* pooled) {
  const V divisor = hn::Max(p.count, hn::Set(d, 1.0F));
  hn::StoreU(hn::Div(p.count, n), d, pooled);
  hn::StoreU(hn::Div(p.excess, divisor), d, pooled + stride);
  hn::StoreU(hn::Div(p.position, hn::Mul(divisor, n)), d, pooled + 2 * stride);
  hn::StoreU(hn::Div(p.longest, n), d, pooled + 3 * stride);
}

/// Pools outputs c [n x width] for `kTogether` thresholds, whose chains of additions run side by side.
template <size_t kTogether, class D>
HWY_INLINE void pool_thresholds(D d, const float* c, Index n, const float* thresholds, Index lanes, Index stride,
                                float* pooled) {
  using V = hn::Vec<D>;
  const auto width = static_cast<Index>(hn::Lanes(d));
  const V one = hn::Set(d, 1.0F), count = hn::Set(d, static_cast<float>(n));
  Pooling<V> all[kTogether];  // NOLINT(modernize-avoid-c-arrays)
  for (size_t k = 0; k < kTogether; ++k) begin_pooling(d, thresholds + static_cast<Index>(k) * lanes, all[k]);
  V place = hn::Zero(d);
  for (Index t = 0; t < n; ++t) {
    place = hn::Add(place, one);
    const V output = hn::LoadU(d, c + t * width);
    for (size_t k = 0; k < kTogether; ++k) see(d, output, place, one, all[k]);
  }
  for (size_t k = 0; k < kTogether; ++k) end_pooling(d, all[k], count, stride, pooled + static_cast<Index>(k) * lanes);
}

void all_pooled(Matrix<const float> x, const DilatedKernels& kernels, Range centers, const float* thresholds,
                Index count, float* scratch, float* pooled) {
  const ConvolutionTag d;
  const Index width = static_cast<Index>(hn::Lanes(d)), n = centers.size(), stride = count * kernels.lanes;
  if (centers.empty()) {
    std::fill_n(pooled, kPooledStatistics * stride, 0.0F);
    return;
  }
  constexpr size_t kTogether = hn::MaxLanes(ConvolutionTag()) == kConvolutionLanes ? 4 : 2;
  for (Index lane = 0; lane < kernels.lanes; lane += width) {
    for (Index t = 0; t < n; ++t) hn::StoreU(output_at(d, x, kernels, centers.begin + t, lane), d, scratch + t * width);
    Index k = 0;
    for (; k + static_cast<Index>(kTogether) <= count; k += static_cast<Index>(kTogether))
      pool_thresholds<kTogether>(d, scratch, n, thresholds + k * kernels.lanes + lane, kernels.lanes, stride,
                                 pooled + k * kernels.lanes + lane);
    for (; k < count; ++k)
      pool_thresholds<1>(d, scratch, n, thresholds + k * kernels.lanes + lane, kernels.lanes, stride,
                         pooled + k * kernels.lanes + lane);
  }
}

constexpr ConvolutionOperations kConvolutionOperations = {all_outputs, all_pooled};
const ConvolutionOperations* convolution_operations() { return &kConvolutionOperations; }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

HWY_EXPORT(convolution_operations);
const ConvolutionOperations& operations() { return *HWY_DYNAMIC_DISPATCH(convolution_operations)(); }

}  // namespace

void convolve(Matrix<const float> x, const DilatedKernels& kernels, Range centers, float* c) {
  operations().outputs(x, kernels, centers, c);
}

void pool_convolution(Matrix<const float> x, const DilatedKernels& kernels, Range centers, const float* thresholds,
                      Index count, float* scratch, float* pooled) {
  operations().pooled(x, kernels, centers, thresholds, count, scratch, pooled);
}

}  // namespace unfold
#endif  // HWY_ONCE
