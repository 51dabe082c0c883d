// Internal: the table of element-wise maps, and each map as a type for every target. See targets-inl.h for the order of
// inclusion. Kernels, MapInfo, the double-precision reference and its partial derivatives are all generated from
// UNFOLD_MAPS.

#ifndef UNFOLD_MAPS
// X(name, arity, has_constant, value,
//   operands of the partial derivative d/dx0, d/dx0, operands of d/dx1, d/dx1,
//   positively homogeneous, path coefficient of both inputs)
//
// The expressions use x0, x1, y, k, zero and one, which are doubles in the reference and vectors in the kernels.
// neg_fma(a, b, c) is c - a b, rounded once.
#define UNFOLD_MAPS(X)                                                                     \
  X(add, 2, false, x0 + x1, kNothing, one, kNothing, one, true, 1)                         \
  X(sub, 2, false, x0 - x1, kNothing, one, kNothing, -one, true, 1)                        \
  X(mul, 2, false, x0* x1, kX1, x1, kX0, x0, false, 0)                                     \
  X(scale, 1, true, k* x0, kNothing, k, kNothing, zero, true, k* k)                        \
  X(shift, 1, true, x0 + k, kNothing, one, kNothing, zero, false, 0)                       \
  X(one_minus, 1, false, one - x0, kNothing, -one, kNothing, zero, false, 0)               \
  X(sigmoid, 1, false, sigmoid(x0), kY, neg_fma(y, y, y), kNothing, zero, false, 0)        \
  X(hard_sigmoid, 1, false, hard_sigmoid(x0), kY, hard_slope(y), kNothing, zero, false, 0) \
  X(tanh, 1, false, tanh(x0), kY, neg_fma(y, y, one), kNothing, zero, false, 0)            \
  X(relu, 1, false, relu(x0), kY, positive(y), kNothing, zero, true, 1)                    \
  X(softplus, 1, false, softplus(x0), kX0, sigmoid(x0), kNothing, zero, false, 0)          \
  X(exp, 1, false, exp(x0), kY, y, kNothing, zero, false, 0)                               \
  X(log, 1, false, log(x0), kX0, one / x0, kNothing, zero, false, 0)                       \
  X(square, 1, false, x0* x0, kX0, x0 + x0, kNothing, zero, false, 0)                      \
  X(copy, 1, false, x0, kNothing, one, kNothing, zero, true, 1)

namespace unfold {
/// Bit set of the operands that a partial derivative reads.
enum MapReads : unsigned { kNothing = 0, kX0 = 1, kX1 = 2, kY = 4 };
}  // namespace unfold
#endif

#if defined(UNFOLD_NUMERICS_MAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_MAPS_INL_H_
#undef UNFOLD_NUMERICS_MAPS_INL_H_
#else
#define UNFOLD_NUMERICS_MAPS_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"
#include "numerics/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector with operators; the expressions of the table then apply to vectors and to scalars.
template <class D>
struct Lanes {
  hn::Vec<D> v;
  // Defined explicitly: GCC gives implicit members no target attributes, which vectors need (observed on Arm).
  HWY_INLINE Lanes() {}
  HWY_INLINE Lanes(hn::Vec<D> lanes) : v(lanes) {}
  friend HWY_INLINE Lanes operator+(Lanes a, Lanes b) { return {hn::Add(a.v, b.v)}; }
  friend HWY_INLINE Lanes operator-(Lanes a, Lanes b) { return {hn::Sub(a.v, b.v)}; }
  friend HWY_INLINE Lanes operator*(Lanes a, Lanes b) { return {hn::Mul(a.v, b.v)}; }
  friend HWY_INLINE Lanes operator/(Lanes a, Lanes b) { return {hn::Div(a.v, b.v)}; }
  HWY_INLINE Lanes operator-() const { return {hn::Neg(v)}; }
};
template <class D>
HWY_INLINE Lanes<D> fma(Lanes<D> a, Lanes<D> b, Lanes<D> c) {
  return {Fma(D(), a.v, b.v, c.v)};
}
template <class D>
HWY_INLINE Lanes<D> neg_fma(Lanes<D> a, Lanes<D> b, Lanes<D> c) {
  return {NegFma(D(), a.v, b.v, c.v)};
}
template <class D>
HWY_INLINE Lanes<D> relu(Lanes<D> x) {  // propagates NaN
  return {hn::IfThenZeroElse(hn::Le(x.v, hn::Zero(D())), x.v)};
}
template <class D>
HWY_INLINE Lanes<D> positive(Lanes<D> x) {
  return {hn::IfThenElseZero(hn::Gt(x.v, hn::Zero(D())), hn::Set(D(), hn::TFromD<D>{1}))};
}
template <class D>
HWY_INLINE Lanes<D> exp(Lanes<D> x) {
  return {exp_lanes(D(), x.v)};
}
template <class D>
HWY_INLINE Lanes<D> log(Lanes<D> x) {
  return {log_lanes(D(), x.v)};
}
template <class D>
HWY_INLINE Lanes<D> tanh(Lanes<D> x) {
  return {tanh_lanes(D(), x.v)};
}
template <class D>
HWY_INLINE Lanes<D> sigmoid(Lanes<D> x) {
  return {sigmoid_lanes(D(), x.v)};
}
template <class D>
HWY_INLINE Lanes<D> hard_sigmoid(Lanes<D> x) {  // propagates NaN
  const D d;
  using T = hn::TFromD<D>;
  const auto u = Fma(d, hn::Set(d, T(0.25)), x.v, hn::Set(d, T(0.5)));
  const auto one = hn::Set(d, T{1});
  return {hn::IfThenZeroElse(hn::Le(u, hn::Zero(d)), hn::IfThenElse(hn::Ge(u, one), one, u))};
}
template <class D>
HWY_INLINE Lanes<D> hard_slope(Lanes<D> y) {
  const D d;
  using T = hn::TFromD<D>;
  const auto between = hn::And(hn::Gt(y.v, hn::Zero(d)), hn::Lt(y.v, hn::Set(d, T{1})));
  return {hn::IfThenElseZero(between, hn::Set(d, T(0.25)))};
}
template <class D>
HWY_INLINE Lanes<D> softplus(Lanes<D> x) {
  return {softplus_lanes(D(), x.v)};
}

// Scalar reference; uses the functions of the C library.
inline double neg_fma(double a, double b, double c) { return std::fma(-a, b, c); }
inline double relu(double x) { return x <= 0 ? 0.0 : x; }
inline double positive(double x) { return x > 0 ? 1.0 : 0.0; }
inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
inline double hard_sigmoid(double x) {
  const double u = std::fma(0.25, x, 0.5);
  return u <= 0 ? 0.0 : u >= 1 ? 1.0 : u;
}
inline double hard_slope(double y) { return y > 0 && y < 1 ? 0.25 : 0.0; }
inline double softplus(double x) { return (x > 0 ? x : 0.0) + std::log1p(std::exp(-std::fabs(x))); }

#define UNFOLD_DEFINE_MAP(name, arity, has_constant, value_expression, reads0, partial0, reads1, partial1, \
                          homogeneous, path)                                                               \
  struct name##_map {                                                                                      \
    static constexpr int kArity = arity;                                                                   \
    static constexpr unsigned kReads[2] = {reads0, reads1};                                                \
    template <class V>                                                                                     \
    static HWY_INLINE V value([[maybe_unused]] V x0, [[maybe_unused]] V x1, [[maybe_unused]] V k,          \
                              [[maybe_unused]] V one) {                                                    \
      return value_expression;                                                                             \
    }                                                                                                      \
    template <int kInput, class V>                                                                         \
    static HWY_INLINE V partial([[maybe_unused]] V x0, [[maybe_unused]] V x1, [[maybe_unused]] V y,        \
                                [[maybe_unused]] V k, [[maybe_unused]] V zero, [[maybe_unused]] V one) {   \
      if constexpr (kInput == 0) {                                                                         \
        return partial0;                                                                                   \
      } else {                                                                                             \
        return partial1;                                                                                   \
      }                                                                                                    \
    }                                                                                                      \
  };
UNFOLD_MAPS(UNFOLD_DEFINE_MAP)
#undef UNFOLD_DEFINE_MAP

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // include guard
