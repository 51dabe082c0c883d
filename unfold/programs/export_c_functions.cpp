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
  const auto pair = [&](std::size_t i) { return fmt::format("fma$({}, {}, {})", list[i + 1], x, list[i]); };
  std::string sum = even + 1 < list.size() ? pair(even) : list[even];
  for (std::size_t i = even; i > 0; i -= 2) sum = fmt::format("fma$({}, {}, {})", sum, square, pair(i - 2));
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
    return "  const @real correction =\n      fma$(square * f, " +
           polynomial({"0x1.555554p-2f", "-0x1.000228p-2f", "0x1.99a00ep-3f", "-0x1.5471b6p-3f", "0x1.22d918p-3f",
                       "-0x1.0d8a08p-3f", "0x1.056584p-3f", "-0x1.38b4f4p-4f"},
                      "f", "square") +
           ", low);\n";
  return "  const @real s = f / (2 + f), z = s * s, fourth = z * z;\n"
         "  const @real correction =\n      fma$(s, fma$(z, " +
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

constexpr const char* kBitCasts = R"(
static inline @bits @bits_of(@real x) {
  @bits b;
  memcpy(&b, &x, sizeof b);
  return b;
}
static inline @real @from_bits(@bits b) {
  @real x;
  memcpy(&x, &b, sizeof x);
  return x;
}
/* 2^n for a whole number n, given n + @@_BIASED_ROUNDER, or n + @@_ROUNDER */
static inline @real @power(@real shifted) { return @from_bits(@bits_of(shifted) << @mantissa); }
static inline @real @power_of(@real shifted) { return @from_bits((@bits_of(shifted) << @mantissa) + @@_ONE); }
)";

/// exp(x) = 2^n (1 + q), n and q given, for x within bounds.
std::string expm1_text(bool wide) {
  return R"(
/* exp(r) - 1 for |r| <= ln(2) / 2 */
static inline @real @expm1(@real r) {
  const @real square = r * r;
  return fma$(square, )" +
         expm1_polynomial(wide) + R"(, r);
}
)";
}

constexpr const char* kExp = R"(
static inline @real @exp(@real given) {
  const @real least = given < @@_UNDERFLOW ? @@_UNDERFLOW : given;
  const @real x = least > @@_OVERFLOW ? @@_OVERFLOW : least;
  const @real n = fma$(x, @@_LOG2E, @@_ROUNDER) - @@_ROUNDER;
  const @real r = fma$(-n, @@_LN2_LOW, fma$(-n, @@_LN2_HIGH, x));
  const @real p = 1 + @expm1(r), half = fma$(n, 0.5$, @@_ROUNDER);
  const @real rest = (n - (half - @@_ROUNDER)) + @@_ROUNDER;
  return (p * @power_of(half)) * @power_of(rest);
}
)";
/// 2^n (1 + q) again: as n <= 0, 2^(n + 64) is finite and no denormal, and 2^-64 rounds once.
constexpr const char* kExpBelow = R"(
/* exp(x) for x <= 0 */
static inline @real @exp_below(@real x) {
  const @real bounded = x < @@_UNDERFLOW ? @@_UNDERFLOW : x;
  const @real shifted = fma$(bounded, @@_LOG2E, @@_BIASED_ROUNDER + 64), n = shifted - (@@_BIASED_ROUNDER + 64);
  const @real r = fma$(-n, @@_LN2_LOW, fma$(-n, @@_LN2_HIGH, bounded));
  return ((1 + @expm1(r)) * @power(shifted)) * 0x1p-64$;
}
)";
constexpr const char* kExpMinus = R"(
/* exp(-|x|) */
static inline @real @exp_minus(@real x) { return @exp_below(@from_bits(@bits_of(x) | @@_SIGN)); }
)";
constexpr const char* kSigmoid = R"(
static inline @real @sigmoid(@real x) {
  const @real e = @exp_minus(x), above = x < 0 ? e : 1;
  return above / (1 + e);
}
)";

std::string tanh_text(bool wide) {
  return R"(
static inline @real @tanh(@real x) {
  const @bits sign = @bits_of(x) & @@_SIGN;
  const @real a = @from_bits(@bits_of(x) ^ sign), bounded = a > @@_SATURATES ? @@_SATURATES : a;
  const @real twice = bounded + bounded;
  const @real shifted = fma$(twice, @@_LOG2E, @@_BIASED_ROUNDER), n = shifted - @@_BIASED_ROUNDER;
  const @real r = fma$(-n, @@_LN2_LOW, fma$(-n, @@_LN2_HIGH, twice));
  const @real power = @power(shifted);
  const @real large = 1 - 2 / fma$(power, @expm1(r), power + 1);
  const @real square = a * a, fourth = square * square;
  const @real small = fma$(square * a, )" +
         tanh_polynomial(wide) + R"(, a);
  return @from_bits(@bits_of(a < 0.55$ ? small : large) | sign);
}
)";
}

std::string log_parts_text(bool wide) {
  return R"(
/* k ln 2 + log1p(f) for 1 + f in [sqrt(1/2), sqrt(2)] */
static inline @real @log_of_parts(@real k, @real f) {
  const @real square = f * f, half_square = square * 0.5$, low = k * @@_LN2_LOW;
)" + log_correction(wide) +
         R"(  return fma$(k, @@_LN2_HIGH, f - (half_square - correction));
}
)";
}

constexpr const char* kLog = R"(
static inline @real @log(@real x) {
  const int denormal = x < @@_SMALLEST;
  const @real lifted = denormal ? x * @@_LIFT : x;
  const @bits moved = @bits_of(lifted) + (@@_ONE - @@_SQRT_HALF);
  const @real m = @from_bits((moved & @@_MANTISSA_MASK) + @@_SQRT_HALF);
  const @real tagged = @from_bits((moved >> @mantissa) | @bits_of(@@_MANTISSA_BASE));
  const @real biased = tagged - @@_BIASED_BASE;
  const @real k = biased - (denormal ? @@_LIFT_BITS : 0);
  const @real result = @log_of_parts(k, m - 1);
  const @real below = x == 0 ? -INFINITY : x < 0 ? NAN : x;
  return x > 0 && x < INFINITY ? result : below;
}
)";
constexpr const char* kSoftplus = R"(
static inline @real @softplus(@real x) {
  const @real e = @exp_minus(x);
  const int large = e > 0.41421356237309503$;
  const @real f = large ? fma$(0.5$, e, -0.5$) : e;
  const @real above = x > 0 ? x : 0;
  return above + @log_of_parts(large ? 1 : 0, f);
}
)";
constexpr const char* kRelu = R"(
static inline @real @relu(@real x) { return x <= 0 ? 0 : x; }
)";

/// Sums in 16 lanes, added as a tree.
constexpr const char* kLogSumExp = R"(
/* log(sum of exp(x[i])): sums run in 16 lanes, which are added as a tree */
static @real @log_sum_exp(const @real *x) {
  @real lanes[16], top;
  int i, j;
#if defined(@@_LANES)
  @vector most[16 / @@_LANES];
  for (j = 0; j < 16 / @@_LANES; ++j) most[j] = @@_OF(set1)(-INFINITY);
  for (i = 0; i + 16 <= @@_SYMBOLS; i += 16)
    for (j = 0; j < 16 / @@_LANES; ++j) most[j] = @@_OF(max)(@@_OF(loadu)(x + i + j * @@_LANES), most[j]);
  for (j = 0; j < 16 / @@_LANES; ++j) @@_OF(storeu)(lanes + j * @@_LANES, most[j]);
#else
  for (j = 0; j < 16; ++j) lanes[j] = -INFINITY;
  for (i = 0; i + 16 <= @@_SYMBOLS; i += 16)
    for (j = 0; j < 16; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
#endif
  for (j = 0; i + j < @@_SYMBOLS; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  for (i = 8; i > 0; i /= 2)
    for (j = 0; j < i; ++j) lanes[j] = lanes[j + i] > lanes[j] ? lanes[j + i] : lanes[j];
  top = lanes[0];
  if (top == INFINITY || top == -INFINITY) {
    for (i = 0; i < @@_SYMBOLS; ++i)
      if (x[i] != x[i]) return x[i];
    return top;
  }
  for (j = 0; j < 16; ++j) lanes[j] = 0;
  for (i = 0; i + 16 <= @@_SYMBOLS; i += 16)
    for (j = 0; j < 16; ++j) lanes[j] += @exp_below(x[i + j] - top);
  for (j = 0; i + j < @@_SYMBOLS; ++j) lanes[j] += @exp_below(x[i + j] - top);
  for (i = 8; i > 0; i /= 2)
    for (j = 0; j < i; ++j) lanes[j] += lanes[j + i];
  return top + @log(lanes[0]);
}
)";

/// Vectors of the processor, where their registers are known: compilers keep arrays of sums in memory.
std::string vectors_text(bool wide) {
  return fmt::format(R"(
#if defined(__AVX512F__)
#include <immintrin.h>
typedef {0} @vector;
#define @@_LANES {1}
#define @@_OF(f) _mm512_##f##_{4}
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
typedef {2} @vector;
#define @@_LANES {3}
#define @@_OF(f) _mm256_##f##_{4}
#endif
)",
                     wide ? "__m512d" : "__m512", wide ? 8 : 16, wide ? "__m256d" : "__m256", wide ? 4 : 8,
                     wide ? "pd" : "ps");
}

/// Columns of a product: as many sums as stay in registers, each a chain of fused multiply-adds.
std::string columns_text(int width) {
  return fmt::format(R"(
/* y = start + x W for {0} columns, W [rows x {0}] */
static inline void @columns{0}(const @real *x, const @real *w, const @real *start, @real *y, int rows) {{
  int i, j;
#if defined(@@_LANES)
  @vector sum[{0} / @@_LANES];
  for (j = 0; j < {0} / @@_LANES; ++j) sum[j] = @@_OF(loadu)(start + j * @@_LANES);
  for (i = 0; i < rows; ++i, w += {0}) {{
    const @vector v = @@_OF(set1)(x[i]);
    for (j = 0; j < {0} / @@_LANES; ++j) sum[j] = @@_OF(fmadd)(v, @@_OF(loadu)(w + j * @@_LANES), sum[j]);
  }}
  for (j = 0; j < {0} / @@_LANES; ++j) @@_OF(storeu)(y + j * @@_LANES, sum[j]);
#else
  @real sum[{0}];
  for (j = 0; j < {0}; ++j) sum[j] = start[j];
  for (i = 0; i < rows; ++i, w += {0}) {{
    const @real v = x[i];
    for (j = 0; j < {0}; ++j) sum[j] = fma$(v, w[j], sum[j]);
  }}
  for (j = 0; j < {0}; ++j) y[j] = sum[j];
#endif
}}
)",
                     width);
}

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
          {"bits", {"constants"}, kBitCasts},
          {"expm1", {"bits"}, expm1_text(wide)},
          {"exp", {"expm1"}, kExp},
          {"exp_below", {"expm1"}, kExpBelow},
          {"exp_minus", {"exp_below"}, kExpMinus},
          {"sigmoid", {"exp_minus"}, kSigmoid},
          {"tanh", {"expm1"}, tanh_text(wide)},
          {"log_of_parts", {"bits"}, log_parts_text(wide)},
          {"log", {"log_of_parts"}, kLog},
          {"softplus", {"exp_minus", "log_of_parts"}, kSoftplus},
          {"relu", {}, kRelu},
          {"vectors", {}, vectors_text(wide)},
          {"log_sum_exp", {"exp_below", "log", "vectors"}, kLogSumExp},
          {"columns16", {"vectors"}, columns_text(16)},
          {"columns32", {"vectors"}, columns_text(32)},
          {"columns48", {"vectors"}, columns_text(48)},
          {"columns64", {"vectors"}, columns_text(64)},
          {"columns80", {"vectors"}, columns_text(80)},
          {"columns96", {"vectors"}, columns_text(96)},
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
