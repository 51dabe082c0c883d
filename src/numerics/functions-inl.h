// Internal: exp, log, tanh, sigmoid and softplus on vectors, for every target. See targets-inl.h for the order of
// inclusion.
//
// All functions consist of additions, products, fused multiply-adds, divisions, comparisons and bit operations, whose
// rounding IEEE 754 defines uniquely. Results are therefore bit-identical for every vector width and machine. There are
// no tables.
//
//   exp(x) = 2^n (1 + q):  n = round(x / ln 2), r = x - n ln 2 in two parts (Cody and Waite), q = expm1(r)
//                          = r + r^2 P(r)
//   sigmoid(x):            e = exp(-|x|); e / (1 + e) for negative x, 1 / (1 + e) otherwise, for relative accuracy on
//                          both sides
//   tanh |x|:              x + x^3 P(x^2) below 0.55, where tanh reaches 1/2, and 1 - 2 / (1 + exp(2|x|)) above
//   softplus(x):           max(x, 0) + log1p(exp(-|x|))
//   log(x) = k ln 2 + log1p(f), 1 + f in [sqrt(1/2), sqrt(2)); log1p(f) = f - f^2/2 + f^3 P(f) in float, and in double
//                          f - (f^2/2 - s (f^2/2 + s^2 R(s^2))), s = f / (2 + f), which is 2 atanh(s)
//
// P and R are minimax polynomials for the relative error. They were computed with the Remez algorithm in 50-digit
// arithmetic on the interval widened by 1/1000, and each coefficient was rounded separately. The error stated next to
// each polynomial is the error after rounding.

#if defined(UNFOLD_NUMERICS_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_FUNCTIONS_INL_H_
#undef UNFOLD_NUMERICS_FUNCTIONS_INL_H_
#else
#define UNFOLD_NUMERICS_FUNCTIONS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "numerics/fma-inl.h"

#ifndef UNFOLD_FUNCTION_INLINE
// Sanitizers multiply the code size of every operation; with sanitizers, functions are therefore called instead of
// inlined into each kernel.
#if HWY_IS_ASAN || HWY_IS_TSAN || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNFOLD_FUNCTION_INLINE HWY_NOINLINE
#else
#define UNFOLD_FUNCTION_INLINE HWY_INLINE
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct FunctionConstants;

template <>
struct FunctionConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr float kExponentBias = 127;
  static constexpr float kLog2E = 0x1.715476p+0f;
  static constexpr float kLn2High = 0x1.62e4p-1f;  // 16 bits: n * kLn2High is exact
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  static constexpr float kExpUnderflow = -104;  // exp is 0 at and below this value
  static constexpr float kExpOverflow = 89;     // exp is infinite at and above this value
  static constexpr float kTanhSaturates = 10;   // tanh is 1 at and above this value
  static constexpr float kSmallest = 0x1p-126f, kLift = 0x1p+25f, kLiftBits = 25;
  static constexpr Bits kOneBits = 0x3f800000, kSqrtHalfBits = 0x3f3504f3, kMantissaMask = 0x007fffff;
  // (expm1(r) - r) / r^2; relative error of expm1 1.5e-8
  static constexpr float kExpm1[] = {0.5f, 0x1.5554b6p-3f, 0x1.5555bap-5f, 0x1.1223eep-7f, 0x1.6c5582p-10f};
  // (tanh(x) - x) / x^3 in powers of x^2 on [0, 0.56]; relative error of tanh 4.9e-9
  static constexpr float kTanh[] = {-0x1.555548p-2f, 0x1.110c98p-3f, -0x1.b90fc0p-5f, 0x1.58669ap-6f, -0x1.963d5cp-8f};
  // (log1p(f) - f + f^2/2) / f^3; relative error of log1p 6.5e-9
  static constexpr float kLog1p[] = {0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a00ep-3f, -0x1.5471b6p-3f,
                                     0x1.22d918p-3f, -0x1.0d8a08p-3f, 0x1.056584p-3f, -0x1.38b4f4p-4f};
};

template <>
struct FunctionConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr double kExponentBias = 1023;
  static constexpr double kLog2E = 0x1.71547652b82fep+0;
  static constexpr double kLn2High = 0x1.62e42fefa38p-1;  // 42 bits
  static constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  static constexpr double kExpUnderflow = -745.2;
  static constexpr double kExpOverflow = 710;
  static constexpr double kTanhSaturates = 20;
  static constexpr double kSmallest = 0x1p-1022, kLift = 0x1p+54, kLiftBits = 54;
  static constexpr Bits kOneBits = 0x3ff0000000000000, kSqrtHalfBits = 0x3fe6a09e667f3bcd,
                        kMantissaMask = 0x000fffffffffffff;
  // As in float; relative error of expm1 2.6e-17.
  static constexpr double kExpm1[] = {0.5,
                                      0x1.555555555553ep-3,
                                      0x1.5555555553adfp-5,
                                      0x1.1111111118df3p-7,
                                      0x1.6c16c17a11157p-10,
                                      0x1.a01a01716cfa9p-13,
                                      0x1.a019b358312dbp-16,
                                      0x1.71de97cac9c42p-19,
                                      0x1.2897b46b90e19p-22,
                                      0x1.ae48f75ecb44dp-26};
  // As in float; relative error of tanh 4.4e-18.
  static constexpr double kTanh[] = {-0x1.555555555554cp-2,  0x1.11111111103dap-3,  -0x1.ba1ba1b946466p-5,
                                     0x1.664f484cf56bep-6,   -0x1.226e2d7793d24p-7, 0x1.d6d259d609d11p-9,
                                     -0x1.7d8c7dcc6fd68p-10, 0x1.346805a8bd7b4p-11, -0x1.e8543ea4efb1ap-13,
                                     0x1.5a424380b2b1ep-14,  -0x1.3f20dc1c9eebap-16};
  // (2 atanh(s) - 2 s) / s^3 in powers of s^2; relative error of 2 atanh 2.0e-18
  static constexpr double kAtanh[] = {0x1.5555555555593p-1, 0x1.999999997fc65p-2, 0x1.249249420728bp-2,
                                      0x1.c71c51f4f4cdcp-3, 0x1.746643958c7fep-3, 0x1.39a1360954512p-3,
                                      0x1.2f0b102974306p-3};
};

template <class D>
using ConstantsOf = FunctionConstants<hn::TFromD<D>>;

/// Returns 1.5 * 2^mantissa bits: adding it to a number rounds the number to an integer, which is then in the lowest
/// bits.
template <class D>
HWY_INLINE hn::Vec<D> rounder(D d) {
  using T = hn::TFromD<D>;
  return hn::Set(d, static_cast<T>(T{3} * static_cast<T>(std::uint64_t{1} << (ConstantsOf<D>::kMantissaBits - 1))));
}

/// Evaluates the polynomial c[0] + c[1] x + ... for x and x^2: pairs of coefficients, then Horner's rule in x^2, which
/// halves the chain of dependent operations.
template <class D, class V = hn::Vec<D>, size_t kSize>
HWY_INLINE V polynomial(D d, V x, V square, const hn::TFromD<D> (&c)[kSize]) {
  constexpr size_t kEven = (kSize - 1) / 2 * 2;
  const auto pair = [&](size_t i) HWY_ATTR { return Fma(d, hn::Set(d, c[i + 1]), x, hn::Set(d, c[i])); };
  V sum = kEven + 1 < kSize ? pair(kEven) : hn::Set(d, c[kEven]);
  for (size_t i = kEven; i > 0; i -= 2) sum = Fma(d, sum, square, pair(i - 2));
  return sum;
}

/// Returns the larger of x and the bound, or NaN if x is NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_least(D, V bound, V x) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(bound, x);  // these instructions return the second operand if either one is NaN
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_most(D, V bound, V x) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Min(bound, x);
#else
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
#endif
}

/// Returns 2^n for an integer n, given `shifted` = n + rounder. REQUIRES: the result is a normal number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V power_of_two(D d, V shifted) {
  const hn::RebindToUnsigned<D> bits;
  const auto exponent = hn::ShiftLeft<ConstantsOf<D>::kMantissaBits>(hn::BitCast(bits, shifted));
  return hn::BitCast(d, hn::Add(exponent, hn::Set(bits, ConstantsOf<D>::kOneBits)));
}

/// Returns p * 2^n, rounded once, for p in [1/2, 2] and n within the range of exp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scale_by_power([[maybe_unused]] D d, V p, V n) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return V{_mm512_scalef_ps(p.raw, n.raw)};
  } else {
    return V{_mm512_scalef_pd(p.raw, n.raw)};
  }
#else
  // Uses two factors because 2^n may not be a normal number; the first product is exact.
  const V shift = rounder(d);
  const V shifted_half = Fma(d, n, hn::Set(d, hn::TFromD<D>{0.5}), shift);
  const V rest = hn::Sub(n, hn::Sub(shifted_half, shift));
  return hn::Mul(hn::Mul(p, power_of_two(d, shifted_half)), power_of_two(d, hn::Add(rest, shift)));
#endif
}

/// exp(x) = 2^n (1 + q), where `shifted` = n + rounder. x must be clamped by the caller, or NaN.
template <class V>
struct ReducedExp {
  V shifted, n, q;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE ReducedExp<V> reduce_exp(D d, V x) {
  using C = ConstantsOf<D>;
  const V shift = rounder(d);
  const V shifted = Fma(d, x, hn::Set(d, C::kLog2E), shift);
  const V n = hn::Sub(shifted, shift);
  V r = NegFma(d, n, hn::Set(d, C::kLn2High), x);
  r = NegFma(d, n, hn::Set(d, C::kLn2Low), r);
  const V square = hn::Mul(r, r);
  return {shifted, n, Fma(d, square, polynomial(d, r, square, C::kExpm1), r)};
}

template <class D, class V = hn::Vec<D>>
UNFOLD_FUNCTION_INLINE V exp_lanes(D d, V x) {
  using C = ConstantsOf<D>;
  const V bounded = at_most(d, hn::Set(d, C::kExpOverflow), at_least(d, hn::Set(d, C::kExpUnderflow), x));
  const auto e = reduce_exp(d, bounded);
  return scale_by_power(d, hn::Add(hn::Set(d, hn::TFromD<D>{1}), e.q), e.n);
}

/// Returns exp(-|x|), including denormal results.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_minus_magnitude(D d, V x) {
  const V minus = hn::Or(hn::SignBit(d), x);
  const auto e = reduce_exp(d, at_least(d, hn::Set(d, ConstantsOf<D>::kExpUnderflow), minus));
  return scale_by_power(d, hn::Add(hn::Set(d, hn::TFromD<D>{1}), e.q), e.n);
}

template <class D, class V = hn::Vec<D>>
UNFOLD_FUNCTION_INLINE V sigmoid_lanes(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  const V e = exp_minus_magnitude(d, x);
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

template <class D, class V = hn::Vec<D>>
UNFOLD_FUNCTION_INLINE V tanh_lanes(D d, V x) {
  using T = hn::TFromD<D>;
  using C = ConstantsOf<D>;
  const V one = hn::Set(d, T{1}), two = hn::Set(d, T{2});
  const V magnitude = hn::Abs(x);
  const V bounded = at_most(d, hn::Set(d, C::kTanhSaturates), magnitude);
  const auto e = reduce_exp(d, hn::Add(bounded, bounded));
  const V power = power_of_two(d, e.shifted);
  const V large = hn::Sub(one, hn::Div(two, Fma(d, power, e.q, hn::Add(power, one))));
  const V square = hn::Mul(x, x);
  const V fourth = hn::Mul(square, square);
  const V small = Fma(d, hn::Mul(square, x), polynomial(d, square, fourth, C::kTanh), x);
  // Copying the sign last preserves minus zero.
  return hn::CopySign(hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, T{0.55})), small, large), x);
}

/// Returns k ln 2 + log1p(f) for 1 + f in [sqrt(1/2), sqrt(2)] and an integer k.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_of_parts(D d, V k, V f) {
  using C = ConstantsOf<D>;
  const V square = hn::Mul(f, f);
  const V half_square = hn::Mul(square, hn::Set(d, hn::TFromD<D>{0.5}));
  const V low = hn::Mul(k, hn::Set(d, C::kLn2Low));
  V correction;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const V cube = hn::Mul(square, f);
    correction = Fma(d, cube, polynomial(d, f, square, C::kLog1p), low);
  } else {
    const V s = hn::Div(f, hn::Add(hn::Set(d, 2.0), f));
    const V z = hn::Mul(s, s);
    correction = Fma(d, s, Fma(d, z, polynomial(d, z, hn::Mul(z, z), C::kAtanh), half_square), low);
  }
  return Fma(d, k, hn::Set(d, C::kLn2High), hn::Sub(f, hn::Sub(half_square, correction)));
}

template <class D, class V = hn::Vec<D>>
UNFOLD_FUNCTION_INLINE V log_lanes(D d, V x) {
  using T = hn::TFromD<D>;
  using C = ConstantsOf<D>;
  const hn::RebindToUnsigned<D> bits;
  const auto denormal = hn::Lt(x, hn::Set(d, C::kSmallest));
  const V lifted = hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, C::kLift)), x);
  // Adding 1 - sqrt(1/2) to the bits moves the boundary of the exponents to sqrt(1/2).
  const auto moved = hn::Add(hn::BitCast(bits, lifted), hn::Set(bits, C::kOneBits - C::kSqrtHalfBits));
  const auto mantissa = hn::And(moved, hn::Set(bits, C::kMantissaMask));
  const V m = hn::BitCast(d, hn::Add(mantissa, hn::Set(bits, C::kSqrtHalfBits)));
  const T base = static_cast<T>(std::uint64_t{1} << C::kMantissaBits);
  const auto exponent = hn::ShiftRight<C::kMantissaBits>(moved);
  const V tagged = hn::BitCast(d, hn::Or(exponent, hn::BitCast(bits, hn::Set(d, base))));
  const V biased = hn::Sub(tagged, hn::Set(d, base + C::kExponentBias));
  const V k = hn::Sub(biased, hn::IfThenElseZero(denormal, hn::Set(d, C::kLiftBits)));
  const V result = log_of_parts(d, k, hn::Sub(m, hn::Set(d, T{1})));

  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  const V zero = hn::Zero(d);
  const V below = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Lt(x, zero), nan, x));
  return hn::IfThenElse(hn::And(hn::Gt(x, zero), hn::Lt(x, infinity)), result, below);
}

template <class D, class V = hn::Vec<D>>
UNFOLD_FUNCTION_INLINE V softplus_lanes(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1}), half = hn::Set(d, T{0.5}), zero = hn::Zero(d);
  const V e = exp_minus_magnitude(d, x);
  // log1p(e): above sqrt(2) - 1 as log1p(f) + ln 2 with 1 + f = (1 + e) / 2.
  const auto large = hn::Gt(e, hn::Set(d, static_cast<T>(0.41421356237309503)));
  const V f = hn::IfThenElse(large, Fma(d, half, e, hn::Neg(half)), e);
  const V log1p = log_of_parts(d, hn::IfThenElseZero(large, one), f);
  return hn::Add(hn::IfThenElse(hn::Gt(x, zero), x, zero), log1p);
}

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // include guard
