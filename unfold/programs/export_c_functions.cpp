#include "unfold/programs/export_c_functions.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

namespace unfold {
namespace {

/// One function, or a few that belong together.
struct CFunction {
  std::string name;
  std::vector<std::string> calls;
  std::string text;
};

/// c[0] + c[1] x + ... as numerics/functions-inl.h adds it up: pairs of coefficients, then Horner's rule in x^2.
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

/// log1p(f) beyond f - f^2/2, plus k times the low part of ln 2.
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

/// Constants of both precisions, by the names that the texts use.
std::string constants(bool wide) {
  return wide ? R"(enum { @mantissa = 52 };
#define @@_BITS(x) UINT64_C(x)
#define @@_ROUNDER 0x1.8p+52
#define @@_BIASED_ROUNDER (0x1.8p+52 + 1023)
#define @@_LOG2E 0x1.71547652b82fep+0
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
              : R"(enum { @mantissa = 23 };
#define @@_BITS(x) UINT32_C(x)
#define @@_ROUNDER 0x1.8p+23f
#define @@_BIASED_ROUNDER (0x1.8p+23f + 127)
#define @@_LOG2E 0x1.715476p+0f
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

/// Vectors of the processor, where their registers are known, else single numbers, which compilers put together where
/// they can. All functions of numbers are written over vectors, once.
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

constexpr const char* kParts = R"(
/* n numbers, fewer than a vector has */
static inline @vector @load_part(const @real *p, int n) {
  @real all[@@_LANES] = {0};
  memcpy(all, p, (size_t)n * sizeof *p);
  return @@_LOAD(all);
}
static inline void @store_part(@real *p, @vector v, int n) {
  @real all[@@_LANES];
  @@_STORE(all, v);
  memcpy(p, all, (size_t)n * sizeof *p);
}
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
static inline @vector @power(@vector shifted) { return @from_bits(@bits_of(shifted) << @mantissa); }
)";

/// exp(x) = 2^n (1 + q), n and q given, for x within bounds.
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
static inline @vector @power_of(@vector shifted) { return @from_bits((@bits_of(shifted) << @mantissa) + @@_ONE); }
static inline @vector @exp(@vector given) {
  const @vector least = @@_AT_LEAST(given, @@_ALL(@@_UNDERFLOW)), x = @@_AT_MOST(least, @@_ALL(@@_OVERFLOW));
  const @vector rounder = @@_ALL(@@_ROUNDER), n = @@_FMA(x, @@_ALL(@@_LOG2E), rounder) - rounder;
  const @vector r = @@_FNMA(n, @@_ALL(@@_LN2_LOW), @@_FNMA(n, @@_ALL(@@_LN2_HIGH), x));
  const @vector p = @@_ALL(1) + @expm1(r), half = @@_FMA(n, @@_ALL(0.5$), rounder);
  const @vector rest = (n - (half - rounder)) + rounder;
  return (p * @power_of(half)) * @power_of(rest);
}
)";
/// 2^n (1 + q) again: as n <= 0, 2^(n + 64) is finite and no denormal, and 2^-64 rounds once.
constexpr const char* kExpBelow = R"(
#if !defined(@@_SCALED)
#define @@_SCALED(p, shifted, n) ((p * @power(shifted)) * @@_ALL(0x1p-64$))
#endif
/* exp(x) for x <= 0 */
static inline @vector @exp_below(@vector x) {
  const @vector bounded = @@_AT_LEAST(x, @@_ALL(@@_UNDERFLOW)), rounder = @@_ALL(@@_BIASED_ROUNDER + 64);
  const @vector shifted = @@_FMA(bounded, @@_ALL(@@_LOG2E), rounder), n = shifted - rounder;
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
  const @vector shifted = @@_FMA(twice, @@_ALL(@@_LOG2E), rounder), n = shifted - rounder;
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

constexpr const char* kLog = R"(
static inline @vector @log(@vector x) {
  const @vector zero = @@_ALL(0), smallest = @@_ALL(@@_SMALLEST);
  const @vector lifted = @@_PICK(LT, x, smallest, x * @@_ALL(@@_LIFT), x);
  const @bit_vector moved = @bits_of(lifted) + (@@_ONE - @@_SQRT_HALF);
  const @vector m = @from_bits((moved & @@_MANTISSA_MASK) + @@_SQRT_HALF);
  const @vector tagged = @from_bits((moved >> @mantissa) | @bits_of(@@_ALL(@@_MANTISSA_BASE)));
  const @vector biased = tagged - @@_ALL(@@_BIASED_BASE);
  const @vector k = biased - @@_PICK(LT, x, smallest, @@_ALL(@@_LIFT_BITS), zero);
  const @vector result = @log_of_parts(k, m - @@_ALL(1)), infinite = @@_ALL(INFINITY);
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

/// Sums in 16 lanes, added as a tree.
constexpr const char* kLogSumExp = R"(
static @real @largest(@real *lanes) {
  int j;
  for (j = 0; j < 8; ++j) lanes[j] = lanes[j + 8] > lanes[j] ? lanes[j + 8] : lanes[j];
  for (j = 0; j < 4; ++j) lanes[j] = lanes[j + 4] > lanes[j] ? lanes[j + 4] : lanes[j];
  for (j = 0; j < 2; ++j) lanes[j] = lanes[j + 2] > lanes[j] ? lanes[j + 2] : lanes[j];
  return lanes[1] > lanes[0] ? lanes[1] : lanes[0];
}
static @real @total(@real *lanes) {
  int j;
  for (j = 0; j < 8; ++j) lanes[j] += lanes[j + 8];
  for (j = 0; j < 4; ++j) lanes[j] += lanes[j + 4];
  for (j = 0; j < 2; ++j) lanes[j] += lanes[j + 2];
  return lanes[0] + lanes[1];
}
/* log(sum of exp(x[i])): sums run in 16 lanes, which are added as a tree */
static @real @log_sum_exp(const @real *x) {
  enum { @whole = @@_SYMBOLS / 16 * 16, @rest = @@_SYMBOLS - @whole };
  @vector parts[16 / @@_LANES];
  @real lanes[16], top;
  int i, j;
  for (j = 0; j < 16 / @@_LANES; ++j) parts[j] = @@_ALL(-INFINITY);
  for (i = 0; i < @whole; i += 16)
    for (j = 0; j < 16 / @@_LANES; ++j) parts[j] = @@_AT_LEAST(parts[j], @@_LOAD(x + i + j * @@_LANES));
  for (j = 0; j < 16 / @@_LANES; ++j) @@_STORE(lanes + j * @@_LANES, parts[j]);
  for (j = 0; j < @rest; ++j) lanes[j] = x[@whole + j] > lanes[j] ? x[@whole + j] : lanes[j];
  top = @largest(lanes);
  if (top == INFINITY || top == -INFINITY) {
    for (i = 0; i < @@_SYMBOLS; ++i)
      if (x[i] != x[i]) return x[i];
    return top;
  }
  for (j = 0; j < 16 / @@_LANES; ++j) parts[j] = @@_ALL(0);
  for (i = 0; i < @whole; i += 16)
    for (j = 0; j < 16 / @@_LANES; ++j)
      parts[j] = parts[j] + @exp_below(@@_LOAD(x + i + j * @@_LANES) - @@_ALL(top));
  for (j = 0; j < 16 / @@_LANES; ++j) @@_STORE(lanes + j * @@_LANES, parts[j]);
  if (@rest > 0) {
    @real last[16] = {0};
    for (j = 0; j < @rest; ++j) last[j] = x[@whole + j] - top;
    for (j = 0; j < 16; j += @@_LANES) @@_STORE(last + j, @exp_below(@@_LOAD(last + j)));
    for (j = 0; j < @rest; ++j) lanes[j] += last[j];
  }
  @@_STORE(lanes, @log(@@_ALL(@total(lanes))));
  return top + lanes[0];
}
)";

/// Columns of a product: as many sums at a time as stay in registers, each a chain of fused multiply-adds.
std::string columns_text(int width) {
  return fmt::format(R"(
/* y = start + x W for {0} columns, W [rows x {0}] */
static inline void @columns{0}(const @real *x, const @real *w, const @real *start, @real *y, int rows) {{
  enum {{ @block{0} = @@_SUMS({0}) }};
  int c, i, j;
  for (c = 0; c < {0}; c += @block{0}) {{
    @vector sum[@block{0} / @@_LANES];
    const @real *row = w + c;
    for (j = 0; j < @block{0} / @@_LANES; ++j) sum[j] = @@_LOAD(start + c + j * @@_LANES);
    for (i = 0; i < rows; ++i, row += {0}) {{
      const @vector v = @@_ALL(x[i]);
      for (j = 0; j < @block{0} / @@_LANES; ++j) sum[j] = @@_FMA(v, @@_LOAD(row + j * @@_LANES), sum[j]);
    }}
    for (j = 0; j < @block{0} / @@_LANES; ++j) @@_STORE(y + c + j * @@_LANES, sum[j]);
  }}
}}
)",
                     width);
}
/// Twelve vectors of sums, of 16 registers; compilers may make vectors of four of single numbers.
constexpr const char* kSums = R"(
#define @@_MOST (@@_LANES > 1 ? 12 * @@_LANES : 64)
#define @@_SUMS(n) ((n) <= @@_MOST ? (n) : (n) <= 2 * @@_MOST ? (n) / 2 : (n) / 4)
)";

constexpr const char* kFetch = R"(
/* The first 16 lines of what will be read next: processors guess that only where it lies behind. */
static inline void @fetch(const @real *w) {
#if defined(__GNUC__)
  int i;
  for (i = 0; i < 1024 / (int)sizeof *w; i += 64 / (int)sizeof *w) __builtin_prefetch(w + i);
#else
  (void)w;
#endif
}
)";

constexpr const char* kEdges = R"(
/* y[i] += sum over the edges into i of weight times x of where it comes from */
static void @edges(const @real *w, const @place *entering, const @place *from, const @real *x, @real *y, int n) {
  int i;
  for (i = 0; i < n; ++i) {
    @real sum = y[i];
    @place e;
    for (e = entering[i]; e < entering[i + 1]; ++e) sum = fma$(w[e], x[from[e]], sum);
    y[i] = sum;
  }
}
)";

constexpr const char* kSum = R"(
static double @sum_lanes(double *lanes) {
  int i, j;
  for (i = 8; i > 0; i /= 2)
    for (j = 0; j < i; ++j) lanes[j] += lanes[j + i];
  return lanes[0];
}
/* sum of x, or of its squares */
static double @sum(const @real *x, int n, int squares) {
  double total = 0;
  int begin, i, j;
  for (begin = 0; begin < n; begin += 4096) {
    double lanes[16] = {0};
    const int end = n - begin < 4096 ? n : begin + 4096;
    for (i = begin; i < end; i += 16) {
      const int count = end - i < 16 ? end - i : 16;
      for (j = 0; j < count; ++j) {
        const double v = x[i + j];
        lanes[j] = squares ? fma(v, v, lanes[j]) : lanes[j] + v;
      }
    }
    total += @sum_lanes(lanes);
  }
  return total;
}
)";

constexpr const char* kLayerNorm = R"(
/* y += g times x with mean 0 and variance 1; z: n numbers */
static void @layer_norm(const @real *g, const @real *x, @real *y, @real *z, int n) {
  const @real share = 1 / (@real)n, mean = (@real)@sum(x, n, 0) * share;
  @real inverse;
  int i;
  for (i = 0; i < n; ++i) z[i] = x[i] - mean;
  inverse = 1 / sqrt$((@real)@sum(z, n, 1) * share + 1e-5$);
  for (i = 0; i < n; ++i) {
    const @real normal = z[i] * inverse;
    y[i] = y[i] + g[i] * normal;
  }
}
)";

constexpr const char* kShare = R"(
/* y += x over its sum */
static void @share(const @real *x, @real *y, int n) {
  const @real inverse = 1 / (@real)@sum(x, n, 0);
  int i;
  for (i = 0; i < n; ++i) y[i] = y[i] + x[i] * inverse;
}
)";

constexpr const char* kModulusRelu = R"(
/* y += x with moduli raised by b, those below 0 off; n real and n imaginary parts */
static void @modulus_relu(const @real *b, const @real *x, @real *y, int n) {
  int i;
  for (i = 0; i < n; ++i) {
    const @real m = sqrt$(x[i] * x[i] + x[n + i] * x[n + i] + 1e-5$);
    const @real on = 1 + b[i] * (1 / m), s = !(m + b[i] > 0) && m == m ? 0 : on;
    y[i] = y[i] + s * x[i];
    y[n + i] = y[n + i] + s * x[n + i];
  }
}
)";

constexpr const char* kComplexTurn = R"(
/* y += l x, complex numbers of n real and n imaginary parts */
static void @complex_turn(const @real *l, const @real *x, @real *y, int n) {
  int k;
  for (k = 0; k < n; ++k) {
    const @real re = l[k] * x[k] - l[n + k] * x[n + k], im = l[k] * x[n + k] + l[n + k] * x[k];
    y[k] = y[k] + re;
    y[n + k] = y[n + k] + im;
  }
}
)";

constexpr const char* kUnitary = R"(
/* The unitary map D3 R2 F^-1 D2 P R1 F D1 of n complex numbers (Arjovsky, Shah and Bengio 2016). */
typedef struct {
  int n;
  const @real *turns;   /* cosines and sines of D1, D2, D3 */
  const @real *axes;    /* real and imaginary parts of the vectors of R1, R2 */
  const @real *circle;  /* cosines, then sines of the Fourier transform */
  const @place *order;  /* P */
  @real twice_inverse[2], root;
} @unitary_map;

static void @turn(const @unitary_map *u, int d, @real *re, @real *im) {
  const @real *c = u->turns + 2 * d * u->n, *s = c + u->n;
  int k;
  for (k = 0; k < u->n; ++k) {
    const @real a = re[k], b = im[k];
    re[k] = c[k] * a - s[k] * b;
    im[k] = c[k] * b + s[k] * a;
  }
}
static void @reflect(const @unitary_map *u, int r, @real *re, @real *im) {
  const @real *vr = u->axes + 2 * r * u->n, *vi = vr + u->n, factor = -u->twice_inverse[r];
  @real sum_re = 0, sum_im = 0;
  int k;
  for (k = 0; k < u->n; ++k) {
    sum_re += vr[k] * re[k] + vi[k] * im[k];
    sum_im += vr[k] * im[k] - vi[k] * re[k];
  }
  for (k = 0; k < u->n; ++k) {
    const @real a = factor * vr[k], b = factor * vi[k];
    re[k] += a * sum_re - b * sum_im;
    im[k] += a * sum_im + b * sum_re;
  }
}
/* Stockham's halving; the result is left where the pointers then point. */
static void @transform(const @unitary_map *u, @real sign, @real **x, @real **spare) {
  const int n = u->n;
  int stride = 1, length, p, q, k;
  for (length = n; length > 1; length /= 2, stride *= 2) {
    const int half = length / 2;
    @real *re = *x, *im = *x + n, *to_re = *spare, *to_im = *spare + n;
    for (p = 0; p < half; ++p) {
      const @real c = u->circle[p * stride], s = sign * u->circle[n / 2 + p * stride];
      for (q = 0; q < stride; ++q) {
        const int i = q + stride * p, j = q + stride * (p + half), to = q + stride * 2 * p;
        const @real dr = re[i] - re[j], di = im[i] - im[j];
        to_re[to] = re[i] + re[j];
        to_im[to] = im[i] + im[j];
        to_re[to + stride] = c * dr - s * di;
        to_im[to + stride] = c * di + s * dr;
      }
    }
    re = *x;
    *x = *spare;
    *spare = re;
  }
  for (k = 0; k < 2 * n; ++k) (*x)[k] *= u->root;
}
/* y += U x; work: 4 n numbers */
static void @unitary(const @unitary_map *u, const @real *from, @real *y, @real *work) {
  const int n = u->n;
  @real *x = work, *spare = work + 2 * n, *other;
  int k;
  for (k = 0; k < 2 * n; ++k) x[k] = from[k];
  @turn(u, 0, x, x + n);
  @transform(u, 1, &x, &spare);
  @reflect(u, 0, x, x + n);
  for (k = 0; k < n; ++k) {
    spare[k] = x[u->order[k]];
    spare[n + k] = x[n + u->order[k]];
  }
  other = x;
  x = spare;
  spare = other;
  @turn(u, 1, x, x + n);
  @transform(u, -1, &x, &spare);
  @reflect(u, 1, x, x + n);
  @turn(u, 2, x, x + n);
  for (k = 0; k < 2 * n; ++k) y[k] = y[k] + x[k];
}
)";

/// In an order in which each calls only those before it.
std::vector<CFunction> all_functions(bool wide) {
  return {{"constants", {}, constants(wide)},
          {"vectors", {}, vectors_text(wide)},
          {"parts", {"vectors"}, kParts},
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
          {"log", {"log_of_parts"}, kLog},
          {"softplus", {"exp_minus", "log_of_parts"}, kSoftplus},
          {"relu", {"vectors"}, kRelu},
          {"log_sum_exp", {"exp_below", "log"}, kLogSumExp},
          {"sums", {"vectors"}, kSums},
          {"columns16", {"sums"}, columns_text(16)},
          {"columns32", {"sums"}, columns_text(32)},
          {"columns48", {"sums"}, columns_text(48)},
          {"columns64", {"sums"}, columns_text(64)},
          {"columns80", {"sums"}, columns_text(80)},
          {"columns96", {"sums"}, columns_text(96)},
          {"columns112", {"sums"}, columns_text(112)},
          {"columns128", {"sums"}, columns_text(128)},
          {"fetch", {}, kFetch},
          {"edges", {}, kEdges},
          {"sum", {}, kSum},
          {"layer_norm", {"sum"}, kLayerNorm},
          {"share", {"sum"}, kShare},
          {"modulus_relu", {}, kModulusRelu},
          {"complex_turn", {}, kComplexTurn},
          {"unitary", {}, kUnitary}};
}

}  // namespace

CText::CText(std::string name, bool wide) : name_(std::move(name)), wide_(wide) {
  for (const char c : name_) capitals_ += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

std::string CText::operator()(std::string_view text) const {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') {
      if (!wide_) result += 'f';
    } else if (text[i] != '@') {
      result += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '@') {
      result += capitals_, ++i;
    } else {
      result += name_ + "_";
    }
  }
  return result;
}

std::string CText::number(double value) const {
  if (value == 0) return std::signbit(value) ? (wide_ ? "-0.0" : "-0.0f") : "0";
  return fmt::format("{:a}{}", value, wide_ ? "" : "f");
}

std::string c_functions(const CText& text, const std::set<std::string>& names) {
  const std::vector<CFunction> all = all_functions(text.wide());
  std::set<std::string> wanted = names;
  for (auto f = all.rbegin(); f != all.rend(); ++f)
    if (wanted.contains(f->name)) wanted.insert(f->calls.begin(), f->calls.end());
  std::string result;
  for (const CFunction& f : all)
    if (wanted.contains(f.name)) result += text(f.text);
  return result;
}

}  // namespace unfold
