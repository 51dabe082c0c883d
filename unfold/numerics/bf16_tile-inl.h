// Internal: the tiles of bfloat16 products over vectors of 16 sums and 16 pairs, which whoever includes this defines:
//   Sums, Pairs; load_sums, store_sums, load_pairs, repeat_pair; dot(sums, a, b): in each lane, the upper products
//   first.
// Included once for each kind of vectors, each time in a namespace of its own. No guard.

/// C [rows x vectors * 16] += A B. Floor: one dot for every 32 multiply-adds; 24 sums stay in registers while the pairs
/// of a panel stream from the first-level cache. What it reaches is not known: no machine at hand had the instruction.
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

/// Tiles by rows - 1; all of one height have the width bf16_panels(height).
template <int... kRows>
constexpr auto make_tiles(std::integer_sequence<int, kRows...>) {
  return std::array<void (*)(const Bf16Tile&), sizeof...(kRows)>{&run_tile<kRows + 1, 2 * bf16_panels(kRows + 1)>...};
}
constexpr auto kTiles = make_tiles(std::make_integer_sequence<int, kBf16Rows>());
/// The same, one panel wide: for what is left over.
template <int... kRows>
constexpr auto make_narrow_tiles(std::integer_sequence<int, kRows...>) {
  return std::array<void (*)(const Bf16Tile&), sizeof...(kRows)>{&run_tile<kRows + 1, 2>...};
}
constexpr auto kNarrowTiles = make_narrow_tiles(std::make_integer_sequence<int, kBf16Rows>());
