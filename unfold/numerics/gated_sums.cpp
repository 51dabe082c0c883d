#include "unfold/numerics/gated_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unfold/numerics/gated_sums.cpp"
#include "unfold/numerics/targets-inl.h"
// The targets before Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "unfold/numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_GATED_SUMS_ONCE
#define UNFOLD_NUMERICS_GATED_SUMS_ONCE
namespace unfold {

/// What a target provides.
struct GatedOperations {
  decltype(gated_sums)* sums;
  decltype(gated_steps)* steps;
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Halves added to halves, without a loop that the compiler would not unroll: a tenth of the time of a sum.
float add_sixteen(const float* lane) {
  float eight[8], four[4];  // NOLINT(modernize-avoid-c-arrays): they stay in registers
  for (int i = 0; i < 8; ++i) eight[i] = lane[i] + lane[i + 8];
  for (int i = 0; i < 4; ++i) four[i] = eight[i] + eight[i + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

float gated_sum(const float* x, const float* w, Index n) {
  const hn::CappedTag<float, kMixingLanes> d;
  constexpr Index kWidth = static_cast<Index>(hn::MaxLanes(hn::CappedTag<float, kMixingLanes>()));
  constexpr Index kVectors = kMixingLanes / kWidth;
  hn::Vec<decltype(d)> sums[kVectors];
  for (Index v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (Index i = 0; i < n; i += kMixingLanes)
    for (Index v = 0; v < kVectors; ++v) {
      const Index at = i + v * kWidth;
      sums[v] = hn::Add(sums[v], hn::Mul(hn::LoadU(d, x + at), hn::LoadU(d, w + at)));
    }
  HWY_ALIGN float lanes[kMixingLanes];
  for (Index v = 0; v < kVectors; ++v) hn::Store(sums[v], d, lanes + v * kWidth);
  return add_sixteen(lanes);
}

void all_gated_sums(const float* x, Index n, const float* const* weights, Index rows, float* sums) {
  for (Index r = 0; r < rows; ++r) sums[r] = gated_sum(x, weights[r], n);
}

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
