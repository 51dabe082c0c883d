/// The functions of numerics/functions-inl.h in C, bit-identical, for single numbers and for vectors.

#include <fmt/format.h>

#include <initializer_list>

#include "interop/c/c_function_list.h"

namespace unfold {
namespace {

/// Evaluates c[0] + c[1] x + ... in the order of numerics/functions-inl.h: pairs of coefficients, then Horner's rule in
/// x^2.
std::string polynomial(std::initializer_list<const char*> c, const char* x, const char* square) {
  const std::vector<const char*> list(c);
  const std::size_t even = (list.size() - 1) / 2 * 2;
  const auto all = [&](std::size_t i) { return fmt::format("@@_ALL({})", list[i]); };
  const auto pair = [&](std::size_t i) { return fmt::format("@@_FMA({}, {}, {})", all(i + 1), x, all(i)); };
  std::string sum = even + 1 < list.size() ? pair(even) : all(even);
  for (std::size_t i = even; i > 0; i -= 2) sum = fmt::format("@@_FMA({}, {}, {})", sum, square, pair(i - 2));
  return sum;
}

std::string expm1_polynomial(bool wide) {
  return wide ? polynomial({"0.5", "0x1.555555555553ep-3", "0x1.5555555553adfp-5", "0x1.1111111118df3p-7",
                            "0x1.6c16c17a11157p-10", "0x1.a01a01716cfa9p-13", "0x1.a019b358312dbp-16",
                            "0x1.71de97cac9c42p-19", "0x1.2897b46b90e19p-22", "0x1.ae48f75ecb44dp-26"},
                           "r", "square")
              : polynomial({"0.5f", "0x1.5554b6p-3f", "0x1.5555bap-5f", "0x1.1223eep-7f", "0x1.6c5582p-10f"}, "r",
                           "square");
}

std::string tanh_polynomial(bool wide) {
  return wide
             ? polynomial(
                   {"-0x1.555555555554cp-2", "0x1.11111111103dap-3", "-0x1.ba1ba1b946466p-5", "0x1.664f484cf56bep-6",
                    "-0x1.226e2d7793d24p-7", "0x1.d6d259d609d11p-9", "-0x1.7d8c7dcc6fd68p-10", "0x1.346805a8bd7b4p-11",
                    "-0x1.e8543ea4efb1ap-13", "0x1.5a424380b2b1ep-14", "-0x1.3f20dc1c9eebap-16"},
                   "square", "fourth")
             : polynomial({"-0x1.555548p-2f", "0x1.110c98p-3f", "-0x1.b90fc0p-5f", "0x1.58669ap-6f", "-0x1.963d5cp-8f"},
                          "square", "fourth");
}

/// log1p(f) minus (f - f^2/2), plus k times the low part of ln 2.
std::string log_correction(bool wide) {
  if (!wide)
    return "  const @vector correction =\n      @@_FMA(square * f, " +
           polynomial({"0x1.555554p-2f", "-0x1.000228p-2f", "0x1.99a00ep-3f", "-0x1.5471b6p-3f", "0x1.22d918p-3f",
                       "-0x1.0d8a08p-3f", "0x1.056584p-3f", "-0x1.38b4f4p-4f"},
                      "f", "square") +
           ", low);\n";
  return "  const @vector s = f / (@@_ALL(2) + f), z = s * s, fourth = z * z;\n"
         "  const @vector correction =\n      @@_FMA(s, @@_FMA(z, " +
         polynomial({"0x1.5555555555593p-1", "0x1.999999997fc65p-2", "0x1.249249420728bp-2", "0x1.c71c51f4f4cdcp-3",
                     "0x1.746643958c7fep-3", "0x1.39a1360954512p-3", "0x1.2f0b102974306p-3"},
                    "z", "fourth") +
         ", half_square), low);\n";
}

/// Constants of both precisions under the names used in the source text.
std::string constants(bool wide) {
  return wide ? R"(#define @@_MANTISSA 52
#define @@_BITS(x) UINT64_C(x)
#define @@_ROUNDER 0x1.8p+52
#define @@_BIASED_ROUNDER (0x1.8p+52 + 1023)
#define @@_INVERSE_LN2 0x1.71547652b82fep+0
#define @@_LN2_HIGH 0x1.62e42fefa38p-1
#define @@_LN2_LOW 0x1.ef35793c7673p-45
#define @@_UNDERFLOW -745.2
#define @@_OVERFLOW 710.0
#define @@_SATURATES 20.0
#define @@_SMALLEST 0x1p-1022
#define @@_LIFT 0x1p+54
#define @@_LIFT_BITS 54.0
#define @@_ONE @@_BITS(0x3ff0000000000000)
#define @@_SIGN @@_BITS(0x8000000000000000)
#define @@_SQRT_HALF @@_BITS(0x3fe6a09e667f3bcd)
#define @@_MANTISSA_MASK @@_BITS(0x000fffffffffffff)
#define @@_MANTISSA_BASE 0x1p+52
#define @@_BIASED_BASE (0x1p+52 + 1023.0)
)"
              : R"(#define @@_MANTISSA 23
#define @@_BITS(x) UINT32_C(x)
#define @@_ROUNDER 0x1.8p+23f
#define @@_BIASED_ROUNDER (0x1.8p+23f + 127)
#define @@_INVERSE_LN2 0x1.715476p+0f
#define @@_LN2_HIGH 0x1.62e4p-1f
#define @@_LN2_LOW 0x1.7f7d1cp-20f
#define @@_UNDERFLOW -104.0f
#define @@_OVERFLOW 89.0f
#define @@_SATURATES 10.0f
#define @@_SMALLEST 0x1p-126f
#define @@_LIFT 0x1p+25f
#define @@_LIFT_BITS 25.0f
#define @@_ONE @@_BITS(0x3f800000)
#define @@_SIGN @@_BITS(0x80000000)
#define @@_SQRT_HALF @@_BITS(0x3f3504f3)
#define @@_MANTISSA_MASK @@_BITS(0x007fffff)
#define @@_MANTISSA_BASE 0x1p+23f
#define @@_BIASED_BASE (0x1p+23f + 127.0f)
)";
}

/// Returns the vector type of the processor if its instruction set is supported, otherwise single numbers, which
/// compilers may vectorize. All functions of numbers are written once, over this type.
std::string vectors_text(bool wide) {
  return fmt::format(R"(
#if defined(__GNUC__) && defined(__AVX512F__)
#include <immintrin.h>
typedef {0} @vector;
typedef @bits @bit_vector __attribute__((vector_size(64)));
#define @@_LANES {1}
#define @@_OF(f) _mm512_##f##_{4}
#define @@_PICK(order, a, b, yes, no) \
  @@_OF(mask_blend)(_mm512_cmp_{4}_mask(a, b, _CMP_##order##_OQ), no, yes)
#define @@_SCALED(p, shifted, n) @@_OF(scalef)(p, n)
#elif defined(__GNUC__) && defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
typedef {2} @vector;
typedef @bits @bit_vector __attribute__((vector_size(32)));
#define @@_LANES {3}
#define @@_OF(f) _mm256_##f##_{4}
#define @@_PICK(order, a, b, yes, no) @@_OF(blendv)(no, yes, @@_OF(cmp)(a, b, _CMP_##order##_OQ))
#else
typedef @real @vector;
typedef @bits @bit_vector;
#define @@_LANES 1
#define @@_PICK(order, a, b, yes, no) (@@_##order(a, b) ? (yes) : (no))
#define @@_LT(a, b) ((a) < (b))
#define @@_LE(a, b) ((a) <= (b))
#define @@_EQ(a, b) ((a) == (b))
#endif
#if @@_LANES > 1
#define @@_ALL(x) @@_OF(set1)(x)
#define @@_FMA(a, b, c) @@_OF(fmadd)(a, b, c)
#define @@_FNMA(a, b, c) @@_OF(fnmadd)(a, b, c)
#define @@_AT_LEAST(x, low) @@_OF(max)(low, x)
#define @@_AT_MOST(x, high) @@_OF(min)(high, x)
#define @@_LOAD(p) @@_OF(loadu)(p)
#define @@_STORE(p, v) @@_OF(storeu)(p, v)
#else
#define @@_ALL(x) ((@real)(x))
#define @@_FMA(a, b, c) fma$(a, b, c)
#define @@_FNMA(a, b, c) fma$(-(a), b, c)
#define @@_AT_LEAST(x, low) ((x) < (low) ? (low) : (x))
#define @@_AT_MOST(x, high) ((x) > (high) ? (high) : (x))
#define @@_LOAD(p) (*(p))
#define @@_STORE(p, v) (*(p) = (v))
#endif
)",
                     wide ? "__m512d" : "__m512", wide ? 8 : 16, wide ? "__m256d" : "__m256", wide ? 4 : 8,
                     wide ? "pd" : "ps");
}

constexpr const char* kLoadPart = R"(
#if @@_LANES > 1
/* n numbers, fewer than in a vector */
static inline @vector @load_part(const @real *p, int n) {
  @real all[@@_LANES] = {0};
  memcpy(all, p, (size_t)n * sizeof *p);
  return @@_LOAD(all);
}
#endif
)";
constexpr const char* kStorePart = R"(
#if @@_LANES > 1
static inline void @store_part(@real *p, @vector v, int n) {
  @real all[@@_LANES];
  @@_STORE(all, v);
  memcpy(p, all, (size_t)n * sizeof *p);
}
#endif
)";

constexpr const char* kBitCasts = R"(
static inline @bit_vector @bits_of(@vector x) {
  @bit_vector b;
  memcpy(&b, &x, sizeof b);
  return b;
}
static inline @vector @from_bits(@bit_vector b) {
  @vector x;
  memcpy(&x, &b, sizeof x);
  return x;
}
)";
constexpr const char* kPower = R"(
/* 2^n for a whole number n, given n + @@_BIASED_ROUNDER */
static inline @vector @power(@vector shifted) { return @from_bits(@bits_of(shifted) << @@_MANTISSA); }
)";

/// exp(x) = 2^n (1 + q) for x within bounds; computes n and q.
std::string expm1_text(bool wide) {
  return R"(
/* exp(r) - 1 for |r| <= ln(2) / 2 */
static inline @vector @expm1(@vector r) {
  const @vector square = r * r;
  return @@_FMA(square, )" +
         expm1_polynomial(wide) + R"(, r);
}
)";
}

constexpr const char* kExp = R"(
/* 2^n for a whole number n, given n + @@_ROUNDER */
static inline @vector @power_of(@vector shifted) { return @from_bits((@bits_of(shifted) << @@_MANTISSA) + @@_ONE); }
static inline @vector @exp(@vector given) {
  const @vector least = @@_AT_LEAST(given, @@_ALL(@@_UNDERFLOW)), x = @@_AT_MOST(least, @@_ALL(@@_OVERFLOW));
  const @vector rounder = @@_ALL(@@_ROUNDER), n = @@_FMA(x, @@_ALL(@@_INVERSE_LN2), rounder) - rounder;
  const @vector r = @@_FNMA(n, @@_ALL(@@_LN2_LOW), @@_FNMA(n, @@_ALL(@@_LN2_HIGH), x));
  const @vector p = @@_ALL(1) + @expm1(r), half = @@_FMA(n, @@_ALL(0.5$), rounder);
  const @vector rest = (n - (half - rounder)) + rounder;
  return (p * @power_of(half)) * @power_of(rest);
}
)";
/// 2^n (1 + q) for n <= 0: 2^(n + 64) is finite and not subnormal, and the multiplication by 2^-64 rounds once.
constexpr const char* kExpBelow = R"(
#if !defined(@@_SCALED)
#define @@_SCALED(p, shifted, n) ((p * @power(shifted)) * @@_ALL(0x1p-64$))
#endif
/* exp(x) for x <= 0 */
static inline @vector @exp_below(@vector x) {
  const @vector bounded = @@_AT_LEAST(x, @@_ALL(@@_UNDERFLOW)), rounder = @@_ALL(@@_BIASED_ROUNDER + 64);
  const @vector shifted = @@_FMA(bounded, @@_ALL(@@_INVERSE_LN2), rounder), n = shifted - rounder;
  const @vector r = @@_FNMA(n, @@_ALL(@@_LN2_LOW), @@_FNMA(n, @@_ALL(@@_LN2_HIGH), bounded));
  const @vector p = @@_ALL(1) + @expm1(r);
  return @@_SCALED(p, shifted, n);
}
)";
constexpr const char* kExpMinus = R"(
/* exp(-|x|) */
static inline @vector @exp_minus(@vector x) { return @exp_below(@from_bits(@bits_of(x) | @@_SIGN)); }
)";
constexpr const char* kSigmoid = R"(
static inline @vector @sigmoid(@vector x) {
  const @vector e = @exp_minus(x), above = @@_PICK(LT, x, @@_ALL(0), e, @@_ALL(1));
  return above / (@@_ALL(1) + e);
}
)";

std::string tanh_text(bool wide) {
  return R"(
static inline @vector @tanh(@vector x) {
  const @bit_vector sign = @bits_of(x) & @@_SIGN;
  const @vector a = @from_bits(@bits_of(x) ^ sign), bounded = @@_AT_MOST(a, @@_ALL(@@_SATURATES));
  const @vector twice = bounded + bounded, rounder = @@_ALL(@@_BIASED_ROUNDER);
  const @vector shifted = @@_FMA(twice, @@_ALL(@@_INVERSE_LN2), rounder), n = shifted - rounder;
  const @vector r = @@_FNMA(n, @@_ALL(@@_LN2_LOW), @@_FNMA(n, @@_ALL(@@_LN2_HIGH), twice));
  const @vector power = @power(shifted);
  const @vector large = @@_ALL(1) - @@_ALL(2) / @@_FMA(power, @expm1(r), power + @@_ALL(1));
  const @vector square = a * a, fourth = square * square;
  const @vector small = @@_FMA(square * a, )" +
         tanh_polynomial(wide) + R"(, a);
  return @from_bits(@bits_of(@@_PICK(LT, a, @@_ALL(0.55$), small, large)) | sign);
}
)";
}

std::string log_parts_text(bool wide) {
  return R"(
/* k ln 2 + log1p(f) for 1 + f in [sqrt(1/2), sqrt(2)] */
static inline @vector @log_of_parts(@vector k, @vector f) {
  const @vector square = f * f, half_square = square * @@_ALL(0.5$), low = k * @@_ALL(@@_LN2_LOW);
)" + log_correction(wide) +
         R"(  return @@_FMA(k, @@_ALL(@@_LN2_HIGH), f - (half_square - correction));
}
)";
}

constexpr const char* kLogOfNormal = R"(
/* log(x) - lift ln 2 for a positive normal number x */
static inline @vector @log_of_normal(@vector x, @vector lift) {
  const @bit_vector moved = @bits_of(x) + (@@_ONE - @@_SQRT_HALF);
  const @vector m = @from_bits((moved & @@_MANTISSA_MASK) + @@_SQRT_HALF);
  const @vector tagged = @from_bits((moved >> @@_MANTISSA) | @bits_of(@@_ALL(@@_MANTISSA_BASE)));
  return @log_of_parts(tagged - @@_ALL(@@_BIASED_BASE) - lift, m - @@_ALL(1));
}
)";
constexpr const char* kLog = R"(
static inline @vector @log(@vector x) {
  const @vector zero = @@_ALL(0), smallest = @@_ALL(@@_SMALLEST), infinite = @@_ALL(INFINITY);
  const @vector lifted = @@_PICK(LT, x, smallest, x * @@_ALL(@@_LIFT), x);
  const @vector result = @log_of_normal(lifted, @@_PICK(LT, x, smallest, @@_ALL(@@_LIFT_BITS), zero));
  const @vector below = @@_PICK(EQ, x, zero, @@_ALL(-INFINITY), @@_PICK(LT, x, zero, @@_ALL(NAN), x));
  return @@_PICK(LT, zero, x, @@_PICK(LT, x, infinite, result, below), below);
}
)";
constexpr const char* kSoftplus = R"(
static inline @vector @softplus(@vector x) {
  const @vector e = @exp_minus(x), bound = @@_ALL(0.41421356237309503$);
  const @vector f = @@_PICK(LT, bound, e, @@_FMA(@@_ALL(0.5$), e, @@_ALL(-0.5$)), e);
  const @vector above = @@_PICK(LT, @@_ALL(0), x, x, @@_ALL(0));
  return above + @log_of_parts(@@_PICK(LT, bound, e, @@_ALL(1), @@_ALL(0)), f);
}
)";
constexpr const char* kHardSigmoid = R"(
static inline @vector @hard_sigmoid(@vector x) {
  const @vector u = @@_FMA(@@_ALL(0.25$), x, @@_ALL(0.5$));
  return @@_PICK(LE, u, @@_ALL(0), @@_ALL(0), @@_PICK(LE, @@_ALL(1), u, @@_ALL(1), u));
}
)";
constexpr const char* kRelu = R"(
static inline @vector @relu(@vector x) { return @@_PICK(LE, x, @@_ALL(0), @@_ALL(0), x); }
)";

}  // namespace

std::vector<CFunction> c_number_functions(bool wide) {
  return {{"constants", {}, constants(wide)},
          {"vectors", {}, vectors_text(wide)},
          {"load_part", {"vectors"}, kLoadPart},
          {"store_part", {"vectors"}, kStorePart},
          {"bits", {"constants", "vectors"}, kBitCasts},
          {"power", {"bits"}, kPower},
          {"expm1", {"bits"}, expm1_text(wide)},
          {"exp", {"expm1"}, kExp},
          {"exp_below", {"expm1", "power"}, kExpBelow},
          {"exp_minus", {"exp_below"}, kExpMinus},
          {"sigmoid", {"exp_minus"}, kSigmoid},
          {"hard_sigmoid", {"vectors"}, kHardSigmoid},
          {"tanh", {"expm1", "power"}, tanh_text(wide)},
          {"log_of_parts", {"bits"}, log_parts_text(wide)},
          {"log_of_normal", {"log_of_parts"}, kLogOfNormal},
          {"log", {"log_of_normal"}, kLog},
          {"softplus", {"exp_minus", "log_of_parts"}, kSoftplus},
          {"relu", {"vectors"}, kRelu}};
}

}  // namespace unfold
