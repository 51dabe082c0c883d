#include "numerics/gated_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/gated_sums.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_GATED_SUMS_ONCE
#define UNFOLD_NUMERICS_GATED_SUMS_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
struct GatedOperations {
  decltype(gated_sums)* sums;
  decltype(gated_steps)* steps;
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void all_gated_sums(const float* x, Index n, const float* const* weights, Index rows, float* sums) {
  for (Index r = 0; r < rows; ++r) {
    float lane[kMixingLanes] = {};  // NOLINT(modernize-avoid-c-arrays)
    for (Index i = 0; i < n; ++i) lane[i % kMixingLanes] += x[i] * weights[r][i];
    for (Index half = kMixingLanes / 2; half > 0; half /= 2)
      for (Index i = 0; i < half; ++i) lane[i] += lane[i + half];
    sums[r] = lane[0];
  }
}

#else

/// Reduces sixteen lanes to four, by adding halves twice.
template <size_t kWidth, class Vector>
HWY_INLINE auto four_of_sixteen(const Vector* sums) {
  if constexpr (kWidth == 16) {
    const hn::FixedTag<float, kWidth / 2> eight;
    const hn::FixedTag<float, kWidth / 4> four;
    const auto sum = hn::Add(hn::LowerHalf(eight, sums[0]), hn::UpperHalf(eight, sums[0]));
    return hn::Add(hn::LowerHalf(four, sum), hn::UpperHalf(four, sum));
  } else if constexpr (kWidth == 8) {
    const hn::FixedTag<float, kWidth / 2> four;
    const auto sum = hn::Add(sums[0], sums[1]);
    return hn::Add(hn::LowerHalf(four, sum), hn::UpperHalf(four, sum));
  } else {
    static_assert(kWidth == 4);
    return hn::Add(hn::Add(sums[0], sums[2]), hn::Add(sums[1], sums[3]));
  }
}

/// Computes the sums of four rows at once, which share the loads of x and the additions of lanes.
HWY_INLINE void four_gated_sums(const float* x, Index n, const float* const* w, float* sums) {
  const hn::CappedTag<float, kMixingLanes> d;
  const hn::FixedTag<float, 4> four;
  constexpr size_t kWidth = hn::MaxLanes(hn::CappedTag<float, kMixingLanes>());
  constexpr size_t kVectors = kMixingLanes / kWidth;
  hn::Vec<decltype(d)> a[kVectors], b[kVectors], c[kVectors], e[kVectors];
  for (size_t v = 0; v < kVectors; ++v) a[v] = b[v] = c[v] = e[v] = hn::Zero(d);
  for (Index i = 0; i < n; i += kMixingLanes)
    for (size_t v = 0; v < kVectors; ++v) {
      const Index at = i + static_cast<Index>(v * kWidth);
      const auto in = hn::LoadU(d, x + at);
      a[v] = hn::Add(a[v], hn::Mul(in, hn::LoadU(d, w[0] + at)));
      b[v] = hn::Add(b[v], hn::Mul(in, hn::LoadU(d, w[1] + at)));
      c[v] = hn::Add(c[v], hn::Mul(in, hn::LoadU(d, w[2] + at)));
      e[v] = hn::Add(e[v], hn::Mul(in, hn::LoadU(d, w[3] + at)));
    }
  const auto fa = four_of_sixteen<kWidth>(a), fb = four_of_sixteen<kWidth>(b), fc = four_of_sixteen<kWidth>(c),
             fe = four_of_sixteen<kWidth>(e);
  // (0 + 2) and (1 + 3) of each row, with the rows side by side.
  const auto ab = hn::Add(hn::InterleaveLower(four, fa, fb), hn::InterleaveUpper(four, fa, fb));
  const auto ce = hn::Add(hn::InterleaveLower(four, fc, fe), hn::InterleaveUpper(four, fc, fe));
  hn::StoreU(hn::Add(hn::ConcatLowerLower(four, ce, ab), hn::ConcatUpperUpper(four, ce, ab)), four, sums);
}

/// Computes the sum of one row, in the same order.
HWY_INLINE float one_gated_sum(const float* x, Index n, const float* w) {
  const hn::CappedTag<float, kMixingLanes> d;
  constexpr size_t kWidth = hn::MaxLanes(hn::CappedTag<float, kMixingLanes>());
  constexpr size_t kVectors = kMixingLanes / kWidth;
  hn::Vec<decltype(d)> sum[kVectors];
  for (size_t v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (Index i = 0; i < n; i += kMixingLanes)
    for (size_t v = 0; v < kVectors; ++v) {
      const Index at = i + static_cast<Index>(v * kWidth);
      sum[v] = hn::Add(sum[v], hn::Mul(hn::LoadU(d, x + at), hn::LoadU(d, w + at)));
    }
  HWY_ALIGN float lane[4];
  hn::Store(four_of_sixteen<kWidth>(sum), hn::FixedTag<float, 4>(), lane);
  return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

void all_gated_sums(const float* x, Index n, const float* const* weights, Index rows, float* sums) {
  Index r = 0;
  for (; r + 4 <= rows; r += 4) four_gated_sums(x, n, weights + r, sums + r);
  if (rows - r <= 2) {
    for (; r < rows; ++r) sums[r] = one_gated_sum(x, n, weights[r]);
    return;
  }
  const float* left[4];  // NOLINT(modernize-avoid-c-arrays): some rows may occur more than once
  HWY_ALIGN float left_sums[4];
  for (Index i = 0; i < 4; ++i) left[i] = weights[r + i < rows ? r + i : rows - 1];
  four_gated_sums(x, n, left, left_sums);
  for (Index i = 0; r + i < rows; ++i) sums[r + i] = left_sums[i];
}

#endif

struct StepBody {
  const float* x;
  float* w;
  float step;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto change = hn::Mul(place.load(d, x + i), hn::Set(d, step));
    place.store(hn::Add(place.load(d, w + i), change), d, w + i);
  }
};

void all_gated_steps(const float* x, Index n, float* const* weights, const float* steps, Index rows) {
  for (Index r = 0; r < rows; ++r)
    if (steps[r] != 0) for_each_vector<float>(n, StepBody{x, weights[r], steps[r]});
}

constexpr GatedOperations kGatedOperations = {all_gated_sums, all_gated_steps};
const GatedOperations* GatedTable() { return &kGatedOperations; }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

HWY_EXPORT(GatedTable);

}  // namespace

void gated_sums(const float* x, Index n, const float* const* weights, Index rows, float* sums) {
  HWY_DYNAMIC_DISPATCH(GatedTable)()->sums(x, n, weights, rows, sums);
}

void gated_steps(const float* x, Index n, float* const* weights, const float* steps, Index rows) {
  HWY_DYNAMIC_DISPATCH(GatedTable)()->steps(x, n, weights, steps, rows);
}

}  // namespace unfold
#endif  // HWY_ONCE
