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

struct WeightedBody {
  const float *x, *w;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    return hn::Add(sum, hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, w + i)));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    return hn::Add(sum, hn::Mul(load_first(d, x + i, count), load_first(d, w + i, count)));
  }
};
void all_gated_sums(const float* x, Index n, const float* const* weights, Index rows, float* sums) {
  for (Index r = 0; r < rows; ++r) sums[r] = sum_in_lanes<float>(n, WeightedBody{x, weights[r]});
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
