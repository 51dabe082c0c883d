#pragma once
/// Internal: the kernels of bfloat16 products (bf16.h), with several bit-identical implementations.
///
/// The right operand consists of pairs: two elements that are adjacent along k, the first in the upper half. The left
/// operand consists of words: pairs as well, or two rounded floats for each pair, depending on the implementation.

#include <cstdint>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

constexpr Index kBf16TileRows = 14;  ///< maximum height of a tile
constexpr Index kBf16Panel = 32;     ///< columns of a panel

/// C [rows x panels * 32] += A B.
struct Bf16Tile {
  /// Words of A. By rows: word i of row m is at a[m * a_row + i]. By columns: it is at a[i * rows + m].
  const std::uint32_t* a;
  bool by_columns;
  Index a_row;
  const std::uint32_t* b;  ///< pair p of column n of a panel is at b[p * 32 + n]
  Index b_stride;          ///< distance between panels
  Index pairs;
  float* c;
  Index c_stride;
};

/// One implementation. The functions round to bfloat16 on input.
struct Bf16Kernels {
  const char* name;
  Index words_per_pair;  ///< words of the left operand for each pair: 1 (a pair) or 2 (two floats)
  /// Writes the (count + 1) / 2 * words_per_pair words of one row of A. An odd count is completed by a zero.
  void (*round_row)(const float* from, Index count, std::uint32_t* to);
  /// Writes the words by columns of a pair that consists of `first` and `second`, `count` columns of A. A null
  /// `second` stands for zeros. REQUIRES: count <= kBf16TileRows.
  void (*round_columns)(const float* first, const float* second, Index count, std::uint32_t* to);
  /// Writes the (count + 1) / 2 pairs of `count` elements that are adjacent along k, completed by a zero.
  void (*pair_row)(const float* from, Index count, std::uint32_t* to);
  /// Writes `count` pairs (first[j], second[j]) of B. A null `second` stands for zeros.
  void (*pair_rows)(const float* first, const float* second, Index count, std::uint32_t* to);
  /// REQUIRES: panels is bf16_tile_panels(rows) or 1.
  void (*run_tile)(const Bf16Tile& tile, Index rows, Index panels);
  bool flushes_to_zero;  ///< the control register must flush results below 2^-126 and such operands to zero
};

/// Returns the number of panels side by side in a tile: as many as possible with at most 28 accumulator vectors.
constexpr int bf16_tile_panels(int rows) { return rows <= 3 ? 4 : rows <= 6 ? 2 : 1; }

/// Returns the fastest kernels of the current bf16_unit(). REQUIRES: bf16_unit() != Bf16Unit::none.
const Bf16Kernels& bf16_kernels();
/// Returns all kernels that this processor supports, for tests. The first are emulated.
std::vector<const Bf16Kernels*> supported_bf16_kernels();

/// Writes the panel of B = w [k x n] that consists of `columns` columns from `column` on, zero-filled to kBf16Panel.
void pack_bf16_panel(Matrix<const float> w, Index column, Index columns, std::uint32_t* to);
/// Does the same for B = w' with w [n x k].
void pack_transposed_bf16_panel(Matrix<const float> w, Index column, Index columns, std::uint32_t* to);

/// Sets the mode of `flushes_to_zero` for the current thread and restores the previous mode at the end.
class FlushToZero {
 public:
  explicit FlushToZero(bool enabled);
  ~FlushToZero();
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  bool enabled_;
  unsigned previous_ = 0;
};

}  // namespace unfold
