#include "unfold/numerics/bf16.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "hwy/base.h"
#include "unfold/base/error.h"

#if HWY_ARCH_X86_64
#include <immintrin.h>
#endif

namespace unfold {
namespace {

constexpr int kBf16Rows = 12;
constexpr Index kPanel = PackedMatrix<float>::kPanel;
static_assert(kPanel == 32);

/// Returns the number of panels side by side in a tile: as many as possible with at most 24 accumulator vectors.
constexpr int bf16_panels(int rows) { return rows <= 3 ? 4 : rows <= 6 ? 2 : 1; }

struct Bf16Tile {
  const std::uint32_t* a;  // pair p of row m is at a[m * a_row + p * a_pair]
  Index a_row, a_pair;
  const std::uint32_t* b;  // pair p of column n of a panel is at b[p * 32 + n]
  Index b_stride;          // distance between panels
  Index pairs;
  float* c;
  Index c_stride;
};

/// The product is exact, so the addition after it rounds like a fused multiply-add.
inline float add_product(float sum, std::uint32_t a, std::uint32_t b) {
  const float result = sum + std::bit_cast<float>(a) * std::bit_cast<float>(b);
  return std::abs(result) < std::numeric_limits<float>::min()
             ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) & 0x80000000)
             : result;
}

/// Emulates the instructions on machines that do not have them. A single loop handles all tile shapes: it is used only
/// to check results, and a copy for each shape took longer to compile than all other products together.
void run_emulated_tile(const Bf16Tile& t, Index rows, Index panels) {
  for (Index m = 0; m < rows; ++m) {
    for (Index q = 0; q < panels; ++q) {
      float* const sums = t.c + m * t.c_stride + q * kPanel;
      const std::uint32_t* a = t.a + m * t.a_row;
      const std::uint32_t* b = t.b + q * t.b_stride;
      for (Index p = 0; p < t.pairs; ++p, a += t.a_pair, b += kPanel) {
        for (Index i = 0; i < kPanel; ++i) sums[i] = add_product(sums[i], *a & 0xffff0000, b[i] & 0xffff0000);
        for (Index i = 0; i < kPanel; ++i) sums[i] = add_product(sums[i], *a << 16, b[i] << 16);
      }
    }
  }
}

#if HWY_ARCH_X86_64
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
namespace bf16_avx512 {
using Sums = __m512;
using Pairs = __m512i;
inline Sums load_sums(const float* from) { return _mm512_loadu_ps(from); }
inline void store_sums(Sums s, float* to) { _mm512_storeu_ps(to, s); }
inline Pairs load_pairs(const std::uint32_t* from) { return _mm512_loadu_si512(from); }
inline Pairs repeat_pair(std::uint32_t pair) { return _mm512_set1_epi32(static_cast<int>(pair)); }
inline Sums dot(Sums s, Pairs a, Pairs b) {
  return _mm512_dpbf16_ps(s, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}

/// C [rows x vectors * 16] += A B. Performance bound: one dot instruction for every 32 multiply-adds; 24 accumulators
/// stay in registers while the pairs of a panel stream from the first-level cache. The achieved fraction has not been
/// measured because no machine with the instruction was available.
template <int kRows, int kVectors>
void run_tile(const Bf16Tile& t) {
  Sums sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[m][v] = load_sums(t.c + m * t.c_stride + v * 16);
  }
  const std::uint32_t* a = t.a;
  const std::uint32_t* b = t.b;
  for (Index p = 0; p < t.pairs; ++p, a += t.a_pair, b += 32) {
    Pairs right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) right[v] = load_pairs(b + v / 2 * t.b_stride + v % 2 * 16);
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) {
      const Pairs left = repeat_pair(a[m * t.a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[m][v] = dot(sums[m][v], left, right[v]);
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store_sums(sums[m][v], t.c + m * t.c_stride + v * 16);
  }
}

/// Tiles indexed by rows - 1; all tiles of one height have the width bf16_panels(height).
template <int... kRows>
constexpr auto make_tiles(std::integer_sequence<int, kRows...>) {
  return std::array<void (*)(const Bf16Tile&), sizeof...(kRows)>{&run_tile<kRows + 1, 2 * bf16_panels(kRows + 1)>...};
}

constexpr auto kTiles = make_tiles(std::make_integer_sequence<int, kBf16Rows>());
/// Tiles that are one panel wide, for the remainder.
template <int... kRows>
constexpr auto make_narrow_tiles(std::integer_sequence<int, kRows...>) {
  return std::array<void (*)(const Bf16Tile&), sizeof...(kRows)>{&run_tile<kRows + 1, 2>...};
}

constexpr auto kNarrowTiles = make_narrow_tiles(std::make_integer_sequence<int, kBf16Rows>());
}  // namespace bf16_avx512
HWY_POP_ATTRIBUTES
#endif

/// Runs the tile for the given numbers of rows and panels. REQUIRES: panels is bf16_panels(rows) or 1.
void run_bf16_tile(const Bf16Tile& tile, Index rows, Index panels) {
#if HWY_ARCH_X86_64
  if (bf16_unit() == Bf16Unit::avx512)
    return (panels == 1 ? bf16_avx512::kNarrowTiles : bf16_avx512::kTiles)[at(rows - 1)](tile);
#endif
  run_emulated_tile(tile, rows, panels);
}

/// Thread-local scratch memory with undefined contents. Slots 0 and 1 are independent.
std::uint32_t* pair_scratch(int slot, Index elements) {
  static thread_local Buffer<std::uint32_t> memory[2];
  if (memory[slot].size() < elements) memory[slot].resize(elements);
  return memory[slot].data();
}

/// Computes columns [column, column + panels * 32) of C += A B for all rows of C; `b` is the first of these panels.
void add_strip(Bf16Tile tile, Matrix<float> c, Index column, int panels, const std::uint32_t* b) {
  const Index tiles = (c.rows + kBf16Rows - 1) / kBf16Rows, wanted = panels * kPanel;
  const Index columns = std::min(wanted, c.cols - column);
  const std::uint32_t* const a = tile.a;
  tile.b = b;
  for (Index t = 0; t < tiles; ++t) {
    const Index begin = c.rows * t / tiles, rows = c.rows * (t + 1) / tiles - begin;
    tile.a = a + begin * tile.a_row;
    if (columns == wanted) {
      tile.c = c.row(begin) + column, tile.c_stride = c.stride;
      run_bf16_tile(tile, rows, panels);
      continue;
    }
    float part[kBf16Rows * 4 * kPanel] = {};  // the last panel is only partly filled
    for (Index m = 0; m < rows; ++m) std::copy_n(c.row(begin + m) + column, columns, part + m * wanted);
    tile.c = part, tile.c_stride = wanted;
    run_bf16_tile(tile, rows, panels);
    for (Index m = 0; m < rows; ++m) std::copy_n(part + m * wanted, columns, c.row(begin + m) + column);
  }
}

/// Calls strip(first panel, count) for a range of panels, as wide as the tiles for this number of rows allow. The tiles
/// of all rows must have the same width: rows are divided evenly, and strips are narrow if the two tile heights differ
/// in width.
template <class Strip>
void for_each_bf16_strip(Range panels, Index rows, const Strip& strip) {
  const Index tiles = (rows + kBf16Rows - 1) / kBf16Rows;
  const int widest = bf16_panels(static_cast<int>((rows + tiles - 1) / tiles));
  const int width = widest == bf16_panels(static_cast<int>(rows / tiles)) ? widest : 1;
  for (Index p = panels.begin; p < panels.end;) {
    const int count = p + width <= panels.end ? width : 1;
    strip(p, count);
    p += count;
  }
}

void copy_matching_parameters(Matrix<float> c, Range columns, Start start, const float* bias) {
  if (start == Start::accumulate) return;
  for (Index m = 0; m < c.rows; ++m) {
    if (start == Start::bias)
      std::copy(bias + columns.begin, bias + columns.end, c.row(m) + columns.begin);
    else
      std::fill(c.row(m) + columns.begin, c.row(m) + columns.end, 0.0F);
  }
}

Bf16Unit find_unit() {
  const char* wish = std::getenv("UNFOLD_BF16");
  const std::string_view wanted = wish == nullptr ? "" : wish;
  if (wanted == "emulate") return Bf16Unit::emulated;
  if (wanted == "off") return Bf16Unit::none;
  if (!wanted.empty()) throw UsageError("UNFOLD_BF16 must be emulate or off, not \"" + std::string(wanted) + "\"");
  return processor_has_bf16() ? Bf16Unit::avx512 : Bf16Unit::none;
}

}  // namespace

bool processor_has_bf16() {
#if HWY_ARCH_X86_64
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

Bf16Unit bf16_unit() {
  static const Bf16Unit unit = find_unit();
  return unit;
}

const char* bf16_unit_name() {
  switch (bf16_unit()) {
    case Bf16Unit::avx512: return "AVX-512-BF16";
    case Bf16Unit::emulated: return "emulated bfloat16";
    case Bf16Unit::none: break;
  }
  return "none";
}

void multiply_bf16(Matrix<const float> a, const PackedMatrix<float>& b, Matrix<float> c, const Panels& panels,
                   Start start, const float* bias) {
  constexpr Index kRows = 256;  // their pairs stay in the second-level cache
  const Index pairs = (a.cols + 1) / 2, rows_at_once = std::min(kRows, a.rows);
  std::uint32_t* const left = pair_scratch(0, rows_at_once * pairs);
  for (Index first = 0; first < a.rows; first += kRows) {
    const Index rows = std::min(kRows, a.rows - first);
    for (Index m = 0; m < rows; ++m) {
      const float* from = a.row(first + m);
      std::uint32_t* to = left + m * pairs;
      for (Index p = 0; p < a.cols / 2; ++p) to[p] = bf16_pair(from[2 * p], from[2 * p + 1]);
      if (a.cols % 2 != 0) to[pairs - 1] = bf16_pair(from[a.cols - 1], 0);
    }
    const Matrix<float> part = c.rows_from(first, rows);
    Bf16Tile tile{};
    tile.a = left, tile.a_row = pairs, tile.a_pair = 1;
    tile.b_stride = pairs * kPanel, tile.pairs = pairs;
    for (Index block = 0; block < panels.blocks; ++block) {
      const Range range{panels.range.begin + block * panels.every, panels.range.end + block * panels.every};
      copy_matching_parameters(part, {range.begin * kPanel, std::min(range.end * kPanel, c.cols)}, start, bias);
      for_each_bf16_strip(range, rows,
                          [&](Index p, int count) { add_strip(tile, part, p * kPanel, count, b.pairs(p)); });
    }
  }
}

void accumulate_outer_bf16(Matrix<const float> a, Matrix<const float> d, Matrix<float> g, Range k_range, Start start) {
  constexpr Index kRows = 256;  // summed in one block
  const Index n = k_range.size(), panels = (d.cols + kPanel - 1) / kPanel;
  const Matrix<float> mine = g.rows_from(k_range.begin, n);
  copy_matching_parameters(mine, {0, g.cols}, start, nullptr);
  for (Index end = a.rows; end > 0; end -= kRows) {
    const Index begin = std::max<Index>(end - kRows, 0), rows = end - begin, pairs = (rows + 1) / 2;
    // Pair p holds rows end - 1 - 2p and end - 2 - 2p, the later row first.
    std::uint32_t* const left = pair_scratch(0, pairs * n);
    std::uint32_t* const right = pair_scratch(1, pairs * 4 * kPanel);
    for (Index p = 0; p < pairs; ++p) {
      const Index later = end - 1 - 2 * p;
      const float* const x = a.row(later) + k_range.begin;
      const float* const y = later > begin ? a.row(later - 1) + k_range.begin : nullptr;
      for (Index k = 0; k < n; ++k) left[p * n + k] = bf16_pair(x[k], y == nullptr ? 0 : y[k]);
    }
    Bf16Tile tile{};
    tile.a = left, tile.a_row = 1, tile.a_pair = n;
    tile.b_stride = pairs * kPanel, tile.pairs = pairs;
    for_each_bf16_strip({0, panels}, n, [&](Index first, int count) {
      for (Index q = 0; q < count; ++q) {
        const Index column = (first + q) * kPanel, columns = std::min(kPanel, d.cols - column);
        for (Index p = 0; p < pairs; ++p) {
          const Index later = end - 1 - 2 * p;
          const float* const x = d.row(later) + column;
          const float* const y = later > begin ? d.row(later - 1) + column : nullptr;
          std::uint32_t* const to = right + (q * pairs + p) * kPanel;
          for (Index j = 0; j < columns; ++j) to[j] = bf16_pair(x[j], y == nullptr ? 0 : y[j]);
          std::fill(to + columns, to + kPanel, 0U);
        }
      }
      add_strip(tile, mine, first * kPanel, count, right);
    });
  }
}

}  // namespace unfold
