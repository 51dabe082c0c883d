#include "numerics/bf16_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "hwy/cache_control.h"
#include "numerics/transpose.h"
#include "unfold/numerics/bf16.h"

#if HWY_ARCH_X86_64
#include <immintrin.h>
#endif

namespace unfold {
namespace {

/// The product is exact, so the addition after it rounds like a fused multiply-add.
inline float add_product(float sum, std::uint32_t a, std::uint32_t b) {
  const float result = sum + std::bit_cast<float>(a) * std::bit_cast<float>(b);
  return std::abs(result) < std::numeric_limits<float>::min()
             ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) & 0x80000000)
             : result;
}

/// Emulates the instruction on machines that do not have it. A single loop handles all tile shapes: it is used only to
/// check results.
void run_emulated_tile(const Bf16Tile& t, Index rows, Index panels) {
  for (Index m = 0; m < rows; ++m) {
    for (Index q = 0; q < panels; ++q) {
      float* const sums = t.c + m * t.c_stride + q * kBf16Panel;
      const std::uint32_t* b = t.b + q * t.b_stride;
      for (Index p = 0; p < t.pairs; ++p, b += kBf16Panel) {
        const std::uint32_t a = t.by_columns ? t.a[p * rows + m] : t.a[m * t.a_row + p];
        for (Index i = 0; i < kBf16Panel; ++i) sums[i] = add_product(sums[i], a & 0xffff0000, b[i] & 0xffff0000);
        for (Index i = 0; i < kBf16Panel; ++i) sums[i] = add_product(sums[i], a << 16, b[i] << 16);
      }
    }
  }
}

void pair_row(const float* from, Index count, std::uint32_t* to) {
  for (Index p = 0; p < count / 2; ++p) to[p] = bf16_pair(from[2 * p], from[2 * p + 1]);
  if (count % 2 != 0) to[count / 2] = bf16_pair(from[count - 1], 0);
}

void pair_rows(const float* first, const float* second, Index count, std::uint32_t* to) {
  for (Index j = 0; j < count; ++j) to[j] = bf16_pair(first[j], second == nullptr ? 0 : second[j]);
}

constexpr Bf16Kernels kEmulated{.name = "emulated",
                                .words_per_pair = 1,
                                .round_row = &pair_row,
                                .round_columns = &pair_rows,
                                .pair_row = &pair_row,
                                .pair_rows = &pair_rows,
                                .run_tile = &run_emulated_tile,
                                .flushes_to_zero = false};

#if HWY_ARCH_X86_64
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
namespace bf16_avx512 {

inline __mmask16 first_lanes(Index count) { return static_cast<__mmask16>(count >= 16 ? 0xffff : (1U << count) - 1); }

/// Moves the lower halves up. (Compilers warn about the intrinsic function.)
inline __m512i shift_up(__m512i words) { return reinterpret_cast<__m512i>(reinterpret_cast<__v16su>(words) << 16); }

/// Returns sixteen rounded elements in the lower halves.
inline __m512i round_16(__mmask16 mask, const float* from) {
  return _mm512_maskz_cvtepu16_epi32(mask,
                                     reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from))));
}

inline __m512i round_16_to_float(__mmask16 mask, const float* from) { return shift_up(round_16(mask, from)); }

inline __m512i pair_16(__mmask16 mask, const float* first, const float* second) {
  const __m512i upper = round_16_to_float(mask, first);
  return second == nullptr ? upper : _mm512_or_si512(upper, round_16(mask, second));
}

void round_row_to_floats(const float* from, Index count, std::uint32_t* to) {
  for (Index i = 0; i < count; i += 16) {
    const __mmask16 mask = first_lanes(count - i);
    _mm512_mask_storeu_epi32(to + i, mask, round_16_to_float(mask, from + i));
  }
  if (count % 2 != 0) to[count] = 0;
}

void pair_row(const float* from, Index count, std::uint32_t* to) {
  for (Index i = 0; i < count; i += 16) {
    const __m256i halves =
        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(first_lanes(count - i), from + i)));
    const auto mask = static_cast<__mmask8>(first_lanes((count - i + 1) / 2));
    _mm256_mask_storeu_epi32(to + i / 2, mask, _mm256_rol_epi32(halves, 16));
  }
}

void pair_rows(const float* first, const float* second, Index count, std::uint32_t* to) {
  for (Index i = 0; i < count; i += 16) {
    const __mmask16 mask = first_lanes(count - i);
    _mm512_mask_storeu_epi32(to + i, mask, pair_16(mask, first + i, second == nullptr ? nullptr : second + i));
  }
}

void round_columns_to_floats(const float* first, const float* second, Index count, std::uint32_t* to) {
  const __mmask16 mask = first_lanes(count);
  const __m512i zero = _mm512_setzero_si512();
  _mm512_mask_storeu_epi32(to, mask, round_16_to_float(mask, first));
  _mm512_mask_storeu_epi32(to + count, mask, second == nullptr ? zero : round_16_to_float(mask, second));
}

/// Word i of all rows. One pointer serves three rows; the addressing modes reach the other two.
template <int kRows>
struct WordsByRow {
  explicit WordsByRow(const Bf16Tile& t) : stride(t.a_row) {
#pragma GCC unroll 16
    for (int i = 0; i < kPointers; ++i) pointer[i] = t.a + 3 * i * stride;
  }
  inline std::uint32_t operator()(int m) const { return pointer[m / 3][m % 3 * stride]; }
  inline void advance() {
#pragma GCC unroll 16
    for (int i = 0; i < kPointers; ++i) ++pointer[i];
  }
  static constexpr int kPointers = (kRows + 2) / 3;
  const std::uint32_t* pointer[kPointers];
  const Index stride;
};

template <int kRows>
struct WordsByColumn {
  explicit WordsByColumn(const Bf16Tile& t) : pointer(t.a) {}
  inline std::uint32_t operator()(int m) const { return pointer[m]; }
  inline void advance() { pointer += kRows; }
  const std::uint32_t* pointer;
};

/// Adds both products of a pair by one instruction.
struct DotProduct {
  template <int kRows, int kVectors, class Words>
  static inline void add(Words& a, const std::uint32_t* b, Index b_stride, __m512 (&sums)[kRows][kVectors]) {
    __m512i right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_si512(b + v / 2 * b_stride + v % 2 * 16);
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) {
      const __m512i left = _mm512_set1_epi32(static_cast<int>(a(m)));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sums[m][v] =
            _mm512_dpbf16_ps(sums[m][v], reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right[v]));
    }
    a.advance();
  }
};

/// Adds the two products of a pair one after the other, by multiply-adds of floats.
struct MultiplyAdds {
  template <int kRows, int kVectors, class Words>
  static inline void add(Words& a, const std::uint32_t* b, Index b_stride, __m512 (&sums)[kRows][kVectors]) {
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
    __m512 right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      right[v] = _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(b + v / 2 * b_stride + v % 2 * 16), upper));
    add_products(a, right, sums);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      right[v] = _mm512_castsi512_ps(shift_up(_mm512_loadu_si512(b + v / 2 * b_stride + v % 2 * 16)));
    add_products(a, right, sums);
  }

 private:
  template <int kRows, int kVectors, class Words>
  static inline void add_products(Words& a, const __m512 (&right)[kVectors], __m512 (&sums)[kRows][kVectors]) {
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) {
      const __m512 left = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(a(m))));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[m][v] = _mm512_fmadd_ps(left, right[v], sums[m][v]);
    }
    a.advance();
  }
};

constexpr Index kPairsAhead = 8;  // prefetched, if the tile has enough rows to hide the loads

/// The sums stay in registers while the pairs of a panel stream from the caches. Performance bound: one dot instruction
/// for every 32 multiply-adds, or two multiply-adds and, for each pair and vector of B, two instructions to unpack it.
template <class Arithmetic, template <int> class Words, int kRows, int kVectors>
void run_tile(const Bf16Tile& t) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[m][v] = _mm512_loadu_ps(t.c + m * t.c_stride + v * 16);
  }
  Words<kRows> a(t);
  const std::uint32_t* b = t.b;
  for (Index p = 0; p < t.pairs; ++p, b += kBf16Panel) {
    if constexpr (kRows > 4) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) hwy::Prefetch(b + kPairsAhead * kBf16Panel + v / 2 * t.b_stride + v % 2 * 16);
    }
    Arithmetic::add(a, b, t.b_stride, sums);
  }
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(t.c + m * t.c_stride + v * 16, sums[m][v]);
  }
}

/// Tiles indexed by rows - 1, as wide as bf16_tile_panels allows and one panel wide.
template <class Arithmetic, template <int> class Words>
struct Tiles {
  using Function = void (*)(const Bf16Tile&);
  template <int... kRows>
  constexpr explicit Tiles(std::integer_sequence<int, kRows...>)
      : wide{&bf16_avx512::run_tile<Arithmetic, Words, kRows + 1, 2 * bf16_tile_panels(kRows + 1)>...},
        narrow{&bf16_avx512::run_tile<Arithmetic, Words, kRows + 1, 2>...} {}
  std::array<Function, kBf16TileRows> wide, narrow;
};

template <class Arithmetic, template <int> class Words>
constexpr Tiles<Arithmetic, Words> kTiles(std::make_integer_sequence<int, kBf16TileRows>{});

template <class Arithmetic>
void run_tile(const Bf16Tile& tile, Index rows, Index panels) {
  const auto run = [&](const auto& tiles) { (panels == 1 ? tiles.narrow : tiles.wide)[at(rows - 1)](tile); };
  tile.by_columns ? run(kTiles<Arithmetic, WordsByColumn>) : run(kTiles<Arithmetic, WordsByRow>);
}

constexpr Bf16Kernels kDot{.name = "dot",
                           .words_per_pair = 1,
                           .round_row = &pair_row,
                           .round_columns = &pair_rows,
                           .pair_row = &pair_row,
                           .pair_rows = &pair_rows,
                           .run_tile = &run_tile<DotProduct>,
                           .flushes_to_zero = false};
constexpr Bf16Kernels kMultiplyAdds{.name = "fma",
                                    .words_per_pair = 2,
                                    .round_row = &round_row_to_floats,
                                    .round_columns = &round_columns_to_floats,
                                    .pair_row = &pair_row,
                                    .pair_rows = &pair_rows,
                                    .run_tile = &run_tile<MultiplyAdds>,
                                    .flushes_to_zero = true};

}  // namespace bf16_avx512
HWY_POP_ATTRIBUTES

/// Returns the seconds of the fastest of several runs of one tile.
double seconds_per_tile(const Bf16Kernels& kernels) {
  constexpr Index kPairs = 64;
  std::vector<std::uint32_t> a(at(kBf16TileRows * kPairs * 2)), b(at(kPairs * kBf16Panel));
  std::vector<float> c(at(kBf16TileRows * kBf16Panel));
  const Bf16Tile tile{a.data(), true, 0, b.data(), 0, kPairs, c.data(), kBf16Panel};
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 12; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    kernels.run_tile(tile, kBf16TileRows, 1);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// On some processors, a dot instruction takes the time of one multiply-add, on others that of four.
const Bf16Kernels& fastest_kernels() {
  const char* const wish = std::getenv("UNFOLD_BF16");
  for (const Bf16Kernels* kernels : {&bf16_avx512::kDot, &bf16_avx512::kMultiplyAdds})
    if (wish != nullptr && std::string_view(wish) == kernels->name) return *kernels;
  const double dot = seconds_per_tile(bf16_avx512::kDot), fma = seconds_per_tile(bf16_avx512::kMultiplyAdds);
  return dot <= fma ? bf16_avx512::kDot : bf16_avx512::kMultiplyAdds;
}
#endif

}  // namespace

const Bf16Kernels& bf16_kernels() {
#if HWY_ARCH_X86_64
  if (bf16_unit() == Bf16Unit::avx512) {
    static const Bf16Kernels& kernels = fastest_kernels();
    return kernels;
  }
#endif
  return kEmulated;
}

std::vector<const Bf16Kernels*> supported_bf16_kernels() {
  std::vector<const Bf16Kernels*> result{&kEmulated};
#if HWY_ARCH_X86_64
  if (processor_has_bf16()) result.insert(result.end(), {&bf16_avx512::kDot, &bf16_avx512::kMultiplyAdds});
#endif
  return result;
}

void pack_bf16_panel(Matrix<const float> w, Index column, Index columns, std::uint32_t* to) {
  const Bf16Kernels& kernels = bf16_kernels();
  for (Index k = 0; k < w.rows; k += 2, to += kBf16Panel) {
    kernels.pair_rows(w.row(k) + column, k + 1 < w.rows ? w.row(k + 1) + column : nullptr, columns, to);
    std::fill(to + columns, to + kBf16Panel, 0U);
  }
}

void pack_transposed_bf16_panel(Matrix<const float> w, Index column, Index columns, std::uint32_t* to) {
  constexpr Index kLine = 16, kChunk = 2 * kLine, kPairs = kChunk / 2;  // two cache lines of each row at a time
  const Bf16Kernels& kernels = bf16_kernels();
  std::uint32_t rows[kBf16Panel * kPairs];
  std::fill(rows + columns * kPairs, rows + kBf16Panel * kPairs, 0U);
  for (Index k = 0; k < w.cols; k += kChunk, to += kPairs * kBf16Panel) {
    const Index count = std::min(kChunk, w.cols - k), pairs = (count + 1) / 2;
    for (Index j = 0; j < columns; ++j) {
      const float* const row = w.row(column + j) + k;
      for (Index line = 0; line < kChunk && k + kChunk < w.cols; line += kLine) hwy::Prefetch(row + kChunk + line);
      kernels.pair_row(row, count, rows + j * kPairs);
    }
    Index i = 0;
    for (; i + 4 <= pairs; i += 4)
      for (Index j = 0; j < kBf16Panel; j += 4)
        transpose_4x4(rows + j * kPairs + i, kPairs, to + i * kBf16Panel + j, kBf16Panel);
    for (; i < pairs; ++i)
      for (Index j = 0; j < kBf16Panel; ++j) to[i * kBf16Panel + j] = rows[j * kPairs + i];
  }
}

FlushToZero::FlushToZero(bool enabled) : enabled_(enabled) {
  if (!enabled_) return;
#if HWY_ARCH_X86_64
  constexpr unsigned kResults = 0x8000, kOperands = 0x0040;
  previous_ = _mm_getcsr();
  _mm_setcsr(previous_ | kResults | kOperands);
#else
  previous_ = 0;
#endif
}

FlushToZero::~FlushToZero() {
  if (!enabled_) return;
#if HWY_ARCH_X86_64
  _mm_setcsr(previous_);
#endif
}

}  // namespace unfold
