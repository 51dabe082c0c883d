#include "unfold/numerics/bf16.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "hwy/cache_control.h"
#include "numerics/bf16_kernels.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kPanel = kBf16Panel;
static_assert(kPanel == PackedMatrix<float>::kPanel);

/// Thread-local scratch memory with undefined contents. Slots 0 and 1 are independent.
std::uint32_t* pair_scratch(int slot, Index elements) {
  static thread_local Buffer<std::uint32_t> memory[2];
  if (memory[slot].size() < elements) memory[slot].resize(elements);
  return memory[slot].data();
}

Index bf16_tiles(Index rows) { return (rows + kBf16TileRows - 1) / kBf16TileRows; }

void prefetch_row(const float* from, Index count) {
  for (Index j = 0; j < count; j += 16) hwy::Prefetch(from + j);
}

/// Computes columns [column, column + panels * 32) of C += A B for all rows of C; `b` is the first of these panels.
void add_strip(const Bf16Kernels& kernels, Bf16Tile tile, Matrix<float> c, Index column, int panels,
               const std::uint32_t* b) {
  const Index tiles = bf16_tiles(c.rows), wanted = panels * kPanel;
  const Index columns = std::min(wanted, c.cols - column);
  const std::uint32_t* const a = tile.a;
  tile.b = b;
  for (Index t = 0; t < tiles; ++t) {
    const Index begin = c.rows * t / tiles, rows = c.rows * (t + 1) / tiles - begin;
    tile.a = a + begin * tile.a_row;
    if (columns == wanted) {
      for (Index m = begin + rows; m < std::min(begin + 2 * rows, c.rows); ++m)
        prefetch_row(c.row(m) + column, columns);
      tile.c = c.row(begin) + column, tile.c_stride = c.stride;
      kernels.run_tile(tile, rows, panels);
      continue;
    }
    float part[kBf16TileRows * 4 * kPanel] = {};  // the last panel is only partly filled
    for (Index m = 0; m < rows; ++m) std::copy_n(c.row(begin + m) + column, columns, part + m * wanted);
    tile.c = part, tile.c_stride = wanted;
    kernels.run_tile(tile, rows, panels);
    for (Index m = 0; m < rows; ++m) std::copy_n(part + m * wanted, columns, c.row(begin + m) + column);
  }
}

/// Calls strip(first panel, count) for a range of panels, as wide as the tiles for this number of rows allow. The tiles
/// of all rows must have the same width: rows are divided evenly, and strips are narrow if the two tile heights differ
/// in width.
template <class Strip>
void for_each_bf16_strip(Range panels, Index rows, const Strip& strip) {
  const Index tiles = bf16_tiles(rows);
  const int widest = bf16_tile_panels(static_cast<int>((rows + tiles - 1) / tiles));
  const int width = widest == bf16_tile_panels(static_cast<int>(rows / tiles)) ? widest : 1;
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
  if (!wanted.empty() && wanted != "dot" && wanted != "fma")
    throw UsageError("UNFOLD_BF16 must be emulate, dot, fma or off, not \"" + std::string(wanted) + "\"");
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
  constexpr Index kRows = 256;  // their words stay in the second-level cache
  const Bf16Kernels& kernels = bf16_kernels();
  const FlushToZero mode(kernels.flushes_to_zero);
  const Index pairs = (a.cols + 1) / 2, words = pairs * kernels.words_per_pair;
  std::uint32_t* const left = pair_scratch(0, std::min(kRows, a.rows) * words);
  for (Index first = 0; first < a.rows; first += kRows) {
    const Index rows = std::min(kRows, a.rows - first);
    for (Index m = 0; m < rows; ++m) kernels.round_row(a.row(first + m), a.cols, left + m * words);
    const Matrix<float> part = c.rows_from(first, rows);
    Bf16Tile tile{};
    tile.a = left, tile.a_row = words;
    tile.b_stride = pairs * kPanel, tile.pairs = pairs;
    for (Index block = 0; block < panels.blocks; ++block) {
      const Range range{panels.range.begin + block * panels.every, panels.range.end + block * panels.every};
      copy_matching_parameters(part, {range.begin * kPanel, std::min(range.end * kPanel, c.cols)}, start, bias);
      for_each_bf16_strip(range, rows,
                          [&](Index p, int count) { add_strip(kernels, tile, part, p * kPanel, count, b.pairs(p)); });
    }
  }
}

void accumulate_outer_bf16(Matrix<const float> a, Matrix<const float> d, Matrix<float> g, Range k_range, Start start) {
  constexpr Index kRows = 512;  // summed in one block
  const Bf16Kernels& kernels = bf16_kernels();
  const FlushToZero mode(kernels.flushes_to_zero);
  const Index n = k_range.size(), panels = (d.cols + kPanel - 1) / kPanel;
  const Matrix<float> mine = g.rows_from(k_range.begin, n);
  copy_matching_parameters(mine, {0, g.cols}, start, nullptr);
  for (Index end = a.rows; end > 0; end -= kRows) {
    const Index begin = std::max<Index>(end - kRows, 0), pairs = (end - begin + 1) / 2;
    const Index words = pairs * kernels.words_per_pair, tiles = bf16_tiles(n);
    // Pair p holds rows end - 1 - 2p and end - 2 - 2p, the later row first.
    const auto row_of_pair = [&](Matrix<const float> of, Index p, Index column) {
      const Index later = end - 1 - 2 * p;
      return std::pair{of.row(later) + column, later > begin ? of.row(later - 1) + column : nullptr};
    };
    std::uint32_t* const left = pair_scratch(0, words * n);
    std::uint32_t* const right = pair_scratch(1, pairs * 4 * kPanel);
    for (Index p = 0; p < pairs; ++p) {
      const auto [later, earlier] = row_of_pair(a, p, k_range.begin);
      for (Index t = 0; t < tiles; ++t) {
        const Index k = n * t / tiles, count = n * (t + 1) / tiles - k;
        kernels.round_columns(later + k, earlier == nullptr ? nullptr : earlier + k, count,
                              left + k * words + p * kernels.words_per_pair * count);
      }
    }
    Bf16Tile tile{};
    tile.a = left, tile.by_columns = true, tile.a_row = words;
    tile.b_stride = pairs * kPanel, tile.pairs = pairs;
    for_each_bf16_strip({0, panels}, n, [&](Index first, int count) {
      for (Index q = 0; q < count; ++q) {
        const Index column = (first + q) * kPanel, columns = std::min(kPanel, d.cols - column);
        for (Index p = 0; p < pairs; ++p) {
          const auto [later, earlier] = row_of_pair(d, p, column);
          std::uint32_t* const to = right + (q * pairs + p) * kPanel;
          kernels.pair_rows(later, earlier, columns, to);
          std::fill(to + columns, to + kPanel, 0U);
        }
      }
      add_strip(kernels, tile, mine, first * kPanel, count, right);
    });
  }
}

}  // namespace unfold
