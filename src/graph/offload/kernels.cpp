#include "graph/offload/kernels.h"

namespace unfold {

const std::vector<std::string>& fixed_kernel_names() {
  static const std::vector<std::string> names = {
      "start_rows", "look_up",     "gather_rows", "scatter_rows", "scatter_lists", "fill_mask",    "sum_parts",
      "join_parts", "square_rows", "to_halves",   "softmax_rows", "adam_step",     "square_parts", "join_squares"};
  return names;
}

/// Sums over rows are divided into parts. One thread sums each column of a part, and the parts are added in order, so
/// the result is reproducible.
std::string fixed_kernels() {
  return R"(
#define EACH(total) (i64 e = block() * (i64)threads() + thread(); e < (total); e += blocks() * (i64)threads())

KERNEL(start_rows) {
  T* y = (T*)a.pointer(0);
  const i64 ld = a.integer(1), rows = a.integer(2), cols = a.integer(3);
  const T* bias = (const T*)a.pointer(4);
  for EACH(rows * cols) {
    const u32 r = (u32)e / (u32)cols, c = (u32)e % (u32)cols;
    y[r * ld + c] = bias ? bias[c] : T(0);
  }
}

KERNEL(look_up) {
  const T* w = (const T*)a.pointer(0);
  const i64 cols = a.integer(1);
  const int* symbols = (const int*)a.pointer(2);
  T* y = (T*)a.pointer(3);
  const i64 ld = a.integer(4), rows = a.integer(5), sets = a.integer(6);
  const T* bias = (const T*)a.pointer(7);
  for EACH(rows * cols) {
    const u32 r = (u32)e / (u32)cols, c = (u32)e % (u32)cols;
    T sum = sets ? (bias ? bias[c] : T(0)) : y[r * ld + c];
    const int s = symbols[r];
    if (s >= 0) sum += w[s * cols + c];
    y[r * ld + c] = sum;
  }
}

KERNEL(gather_rows) {
  T* to = (T*)a.pointer(0);
  const i64 to_ld = a.integer(1);
  const T* from = (const T*)a.pointer(2);
  const i64 from_ld = a.integer(3);
  const i64* before = (const i64*)a.pointer(4);
  const i64 rows = a.integer(5), cols = a.integer(6);
  const T* initial = (const T*)a.pointer(7);
  for EACH(rows * cols) {
    const u32 r = (u32)e / (u32)cols, c = (u32)e % (u32)cols;
    const i64 b = before[r];
    to[r * to_ld + c] = b >= 0 ? (from ? from[b * from_ld + c] : T(0)) : initial ? initial[c] : T(0);
  }
}

KERNEL(scatter_rows) {
  T* to = (T*)a.pointer(0);
  const i64 to_ld = a.integer(1);
  const T* from = (const T*)a.pointer(2);
  const i64 from_ld = a.integer(3);
  const i64* before = (const i64*)a.pointer(4);
  const i64 rows = a.integer(5), cols = a.integer(6);
  for EACH(rows * cols) {
    const u32 r = (u32)e / (u32)cols, c = (u32)e % (u32)cols;
    if (before[r] >= 0) to[before[r] * to_ld + c] += from[r * from_ld + c];
  }
}

KERNEL(scatter_lists) {
  T* to = (T*)a.pointer(0);
  const i64 to_ld = a.integer(1);
  const T* from = (const T*)a.pointer(2);
  const i64 from_ld = a.integer(3);
  const i64 *targets = (const i64*)a.pointer(4), *begin = (const i64*)a.pointer(5), *sources = (const i64*)a.pointer(6);
  const i64 count = a.integer(7), cols = a.integer(8);
  for EACH(count * cols) {
    const u32 k = (u32)e / (u32)cols, c = (u32)e % (u32)cols;
    T sum = to[targets[k] * to_ld + c];
    for (i64 i = begin[k]; i < begin[k + 1]; ++i) sum += from[sources[i] * from_ld + c];
    to[targets[k] * to_ld + c] = sum;
  }
}

DEVICE u64 mixed(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

KERNEL(fill_mask) {
  T* mask = (T*)a.pointer(0);
  const i64 ld = a.integer(1), rows = a.integer(2), cols = a.integer(3);
  const u64 *keys = (const u64*)a.pointer(4), *settings = (const u64*)a.pointer(5);
  const u64 stream = (u64)a.integer(6);
  const u32 threshold = (u32)a.integer(7);
  const T kept = (T)a.number(8);
  const u32 fours = (u32)((cols + 3) / 4);
  for EACH(rows * fours) {
    const u32 r = (u32)e / fours, q = (u32)e % fours;
    T* to = mask + r * ld + 4 * q;
    u32 words[4] = {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu};
    if (settings[0]) {
      const uint4 drawn = philox(settings[1], mixed(stream ^ mixed(keys[r] + 0x9e3779b97f4a7c15ull)), q);
      words[0] = drawn.x, words[1] = drawn.y, words[2] = drawn.z, words[3] = drawn.w;
    }
    for (u32 i = 0; i < 4 && 4 * q + i < cols; ++i)
      to[i] = !settings[0] ? T(1) : words[i] < threshold ? T(0) : kept;
  }
}

KERNEL(sum_parts) {
  T* partial = (T*)a.pointer(0);
  const i64 cols = a.integer(1);
  const T* d = (const T*)a.pointer(2);
  const i64 ld = a.integer(3);
  const i64 *begin = (const i64*)a.pointer(4), *rows = (const i64*)a.pointer(5);
  const i64 parts = a.integer(6);
  for EACH(parts * cols) {
    const u32 p = (u32)e / (u32)cols, c = (u32)e % (u32)cols;
    T sum = T(0);
    for (i64 i = begin[p + 1]; i-- > begin[p];) sum += d[(rows ? rows[i] : i) * ld + c];
    partial[p * cols + c] = sum;
  }
}

KERNEL(join_parts) {
  T* g = (T*)a.pointer(0);
  const i64 cols = a.integer(1);
  const T* partial = (const T*)a.pointer(2);
  const i64* begin = (const i64*)a.pointer(3);
  const i64 count = a.integer(4), sets = a.integer(5);
  for EACH(count * cols) {
    const u32 k = (u32)e / (u32)cols, c = (u32)e % (u32)cols;
    T sum = sets ? T(0) : g[k * cols + c];
    for (i64 p = begin[k + 1]; p-- > begin[k];) sum += partial[p * cols + c];
    g[k * cols + c] = sum;
  }
}

KERNEL(square_rows) {
  T* to = (T*)a.pointer(0);
  const i64 to_ld = a.integer(1);
  const T* from = (const T*)a.pointer(2);
  const i64 from_ld = a.integer(3), rows = a.integer(4), cols = a.integer(5);
  for EACH(rows * cols) {
    const i64 r = e / cols, c = e % cols;
    const T x = from[r * from_ld + c];
    to[r * to_ld + c] = x * x;
  }
}

KERNEL(to_halves) {
  uint2* to = (uint2*)a.pointer(0);
  const float* from = (const float*)a.pointer(1);
  const i64 ld = a.integer(2), rows = a.integer(3), fours = a.integer(4) / 4;
  for EACH(rows * fours) {
    const u32 r = (u32)(e / fours), q = (u32)(e % fours);
    const float4 x = *(const float4*)(from + r * ld + 4 * q);
    uint2 y;
    y.x = pack_bf16(x.x, x.y), y.y = pack_bf16(x.z, x.w);
    to[e] = y;
  }
}

// One warp per row.
KERNEL(softmax_rows) {
  const T* signal = (const T*)a.pointer(0);
  const i64 ld = a.integer(1);
  const int* targets = (const int*)a.pointer(2);
  const i64 rows = a.integer(3), cols = a.integer(4);
  const T scale = (T)a.number(5);
  T *nats = (T*)a.pointer(6), *adjoint = (T*)a.pointer(7);
  const i64 adjoint_ld = a.integer(8);
  const int lane = thread() % 32;
  const i64 warps = blocks() * (i64)(threads() / 32);
  for (i64 r = block() * (i64)(threads() / 32) + thread() / 32; r < rows; r += warps) {
    const T* o = signal + r * ld;
    const int target = targets[r];
    T most = o[0];
    for (i64 c = lane; c < cols; c += 32) most = o[c] > most ? o[c] : most;
    for (int m = 16; m > 0; m /= 2) {
      const T other = shuffle_xor(most, m);
      most = other > most ? other : most;
    }
    T sum = T(0);
    for (i64 c = lane; c < cols; c += 32) sum += exp_of(o[c] - most);
    for (int m = 16; m > 0; m /= 2) sum += shuffle_xor(sum, m);
    const T normalizer = most + log_of(sum);
    if (lane == 0) nats[r] = target < 0 ? T(0) : normalizer - o[target];
    if (!adjoint) continue;
    for (i64 c = lane; c < cols; c += 32) {
      const T p = exp_of(o[c] - normalizer);
      adjoint[r * adjoint_ld + c] = target < 0 ? T(0) : scale * (c == target ? p - T(1) : p);
    }
  }
}

KERNEL(adam_step) {
  T *p = (T*)a.pointer(0), *m = (T*)a.pointer(2), *v = (T*)a.pointer(3);
  const T* g = (const T*)a.pointer(1);
  const i64 count = a.integer(4);
  const T scale = (T)a.number(5), rate = (T)a.number(6), beta1 = (T)a.number(7), beta2 = (T)a.number(8);
  const T rest1 = (T)(1 - a.number(7)), rest2 = (T)(1 - a.number(8)), epsilon = (T)a.number(9);
  const T boost = (T)(1 / a.number(10)), root = (T)(1 / sqrt(a.number(11))), decay = (T)a.number(12);
  for EACH(count) {
    const T d = scale * g[e];
    const T first = UF(fma)(beta1, m[e], rest1 * d), second = UF(fma)(beta2, v[e], rest2 * (d * d));
    m[e] = first, v[e] = second;
    const T step = UF(fma)(first / UF(fma)(UF(sqrt)(second), root, epsilon), boost, decay * p[e]);
    p[e] = UF(fma)(-rate, step, p[e]);
  }
}

// Each thread computes one number, and one block adds them all: the sum is reproducible.
KERNEL(square_parts) {
  double* partial = (double*)a.pointer(0);
  const T* x = (const T*)a.pointer(1);
  const i64 count = a.integer(2);
  double sum = 0;
  for EACH(count) sum += (double)x[e] * (double)x[e];
  partial[block() * (i64)threads() + thread()] = sum;
}

KERNEL(join_squares) {
  double *total = (double*)a.pointer(0), *sums = (double*)shared_memory();
  const double* partial = (const double*)a.pointer(1);
  const i64 count = a.integer(2);
  double sum = 0;
  for (i64 i = thread(); i < count; i += threads()) sum += partial[i];
  sums[thread()] = sum;
  sync_block();
  if (thread() != 0) return;
  for (int i = 1; i < threads(); ++i) sum += sums[i];
  *total = sum;
}
)";
}

}  // namespace unfold
