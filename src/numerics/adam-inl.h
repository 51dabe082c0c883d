// Internal: a step of Adam for one vector of parameters, for every target. See targets-inl.h for the order of
// inclusion.

#if defined(UNFOLD_NUMERICS_ADAM_UPDATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_ADAM_UPDATE_INL_H_
#undef UNFOLD_NUMERICS_ADAM_UPDATE_INL_H_
#else
#define UNFOLD_NUMERICS_ADAM_UPDATE_INL_H_
#endif

#include "hwy/highway.h"
#include "numerics/adam.h"
#include "numerics/fma-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Updates a vector of parameters p and of their moments m and v from their gradient g.
template <class D, class V, class T>
HWY_INLINE void adam_update(D d, V g, V& p, V& m, V& v, const AdamFactors<T>& f) {
  const auto gradient = hn::Mul(hn::Set(d, f.gradient_scale), g);
  const auto square = hn::Mul(gradient, gradient);
  m = Fma(d, hn::Set(d, f.beta1), m, hn::Mul(hn::Set(d, f.rest1), gradient));
  v = Fma(d, hn::Set(d, f.beta2), v, hn::Mul(hn::Set(d, f.rest2), square));
  const auto bottom = Fma(d, hn::Sqrt(v), hn::Set(d, f.root), hn::Set(d, f.epsilon));
  const auto step = Fma(d, hn::Div(m, bottom), hn::Set(d, f.boost), hn::Mul(hn::Set(d, f.decay), p));
  p = NegFma(d, hn::Set(d, f.rate), step, p);
}

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // include guard
