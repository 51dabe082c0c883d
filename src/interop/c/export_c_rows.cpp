/// Sums, products and element-wise functions of rows in C, with the order of additions of numerics/.

#include <fmt/format.h>

#include "interop/c/c_function_list.h"

namespace unfold {
namespace {

/// Sums in 16 lanes, which are then added pairwise as a tree.
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
/* log(sum of exp(x[i])); sums use 16 lanes, which are added in a tree. The sum is at least 1, or a NaN. */
static @real @log_sum_exp(const @real *x) {
  enum { @whole = @@_SYMBOLS / 16 * 16, @rest = @@_SYMBOLS - @whole };
  @vector parts[16 / @@_LANES];
  @vector sum;
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
  sum = @@_ALL(@total(lanes));
  @@_STORE(lanes, @@_PICK(EQ, sum, sum, @log_of_normal(sum, @@_ALL(0)), sum));
  return top + lanes[0];
}
)";

/// Columns of a product: as many accumulators as fit into registers, each a chain of fused multiply-adds.
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

/// Twelve vector accumulators, which fit into 16 registers. Compilers may turn four single numbers into one vector.
constexpr const char* kSums = R"(
#define @@_MOST (@@_LANES > 1 ? 12 * @@_LANES : 64)
#define @@_SUMS(n) ((n) <= @@_MOST ? (n) : (n) <= 2 * @@_MOST ? (n) / 2 : (n) / 4)
)";

constexpr const char* kFetch = R"(
/* Prefetches the first 16 cache lines of the next weights; processors do so only if the weights follow in memory. */
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
/* y[i] += sum over the edges into i of weight times x at the source of the edge */
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
/* y += x divided by its sum */
static void @share(const @real *x, @real *y, int n) {
  const @real inverse = 1 / (@real)@sum(x, n, 0);
  int i;
  for (i = 0; i < n; ++i) y[i] = y[i] + x[i] * inverse;
}
)";

constexpr const char* kModulusRelu = R"(
/* y += x with b added to the moduli, which are clamped at 0; n real and n imaginary parts */
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
    spare[n + k] = x[n + (int)u->order[k]];
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

}  // namespace

std::vector<CFunction> c_row_functions() {
  return {{"log_sum_exp", {"exp_below", "log_of_normal"}, kLogSumExp},
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

}  // namespace unfold
