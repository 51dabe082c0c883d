// Internal: fused multiply-add for every target. See targets-inl.h for the order of inclusion.
//
// hwy::MulAdd rounds twice on processors without a fused multiply-add. Fma always rounds once: on such processors it
// calls the exact function of the C library lane by lane, which is slow but bit-identical.

#if defined(UNFOLD_NUMERICS_FMA_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_FMA_INL_H_
#undef UNFOLD_NUMERICS_FMA_INL_H_
#else
#define UNFOLD_NUMERICS_FMA_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_NATIVE_FMA
/// a * b + c, rounded once.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Fma(D, V a, V b, V c) {
  return hn::MulAdd(a, b, c);
}
/// c - a * b, rounded once.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NegFma(D, V a, V b, V c) {
  return hn::NegMulAdd(a, b, c);
}
#else
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Fma(D d, V a, V b, V c) {
  if constexpr (hn::MaxLanes(D()) == 1) return hn::Set(d, std::fma(hn::GetLane(a), hn::GetLane(b), hn::GetLane(c)));
  using T = hn::TFromD<D>;
  HWY_ALIGN T x[HWY_MAX_BYTES / sizeof(T)], y[HWY_MAX_BYTES / sizeof(T)], z[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (size_t i = 0; i < hn::Lanes(d); ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, z);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NegFma(D d, V a, V b, V c) {
  return Fma(d, hn::Neg(a), b, c);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // include guard
