// Products in bfloat16 compared with the chain of std::fma over rounded operands that bf16.h defines. On processors
// without such products, one instruction is emulated; the rest of the code is the same.
#include "unfold/numerics/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "numerics/bf16_kernels.h"

namespace unfold::bf16_test {
namespace {

/// Must be called before the unit is first queried.
const bool kEmulated = [] {
  if (!processor_has_bf16()) setenv("UNFOLD_BF16", "emulate", 1);
  return true;
}();

float rounded(float x) { return from_bf16(to_bf16(x)); }

class Bf16 : public testing::Test {
 protected:
  std::vector<float> numbers(Index count) {
    std::vector<float> result(at(count));
    for (float& x : result) x = std::uniform_real_distribution<float>(-1, 1)(random_);
    return result;
  }
  std::mt19937 random_{7};
};

TEST_F(Bf16, bf16_rounds_to_nearest_ties_to_even) {
  EXPECT_EQ(rounded(1), 1);
  EXPECT_EQ(rounded(-0.15625F), -0.15625F);
  EXPECT_EQ(rounded(1 + 1.0F / 256), 1);                        // half way down to even
  EXPECT_EQ(rounded(1 + 3.0F / 256), 1 + 2.0F / 128);           // half way up to even
  EXPECT_EQ(rounded(1 + 1.01F / 256), 1 + 1.0F / 128);          // just beyond
  EXPECT_EQ(rounded(std::nextafter(1 + 1.0F / 256, 0.0F)), 1);  // just before
  EXPECT_EQ(rounded(3.4e38F), std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_EQ(rounded(1e-39F), 0);
  EXPECT_TRUE(std::signbit(rounded(-1e-39F)));
  for (const float x : numbers(2000)) {  // no other number is nearer
    const std::uint32_t bits = to_bf16(x);
    for (const std::uint32_t other : {bits - 1, bits + 1})
      EXPECT_LE(std::abs(x - from_bf16(bits)), std::abs(x - from_bf16(other))) << x;
  }
}

TEST_F(Bf16, bf16_products_are_the_fma_chain_of_rounded_operands) {
  ASSERT_NE(bf16_unit(), Bf16Unit::none);
  for (const Index m : {1, 2, 3, 4, 6, 7, 12, 13, 18, 25, 64, 300})
    for (const auto& [k, n] : {std::pair<Index, Index>{1, 1}, {7, 33}, {32, 128}, {65, 200}, {16, 96}}) {
      const auto a = numbers(m * (k + 3)), w = numbers(k * n), bias = numbers(n), before = numbers(m * n);
      for (const bool transposed : {false, true})
        for (const Start start : {Start::zero, Start::bias, Start::accumulate}) {
          PackedMatrix<float> packed;
          packed.resize(k, n, Precision::bf16);
          if (transposed) {
            std::vector<float> t(w.size());
            for (Index i = 0; i < k; ++i)
              for (Index j = 0; j < n; ++j) t[at(j * k + i)] = w[at(i * n + j)];
            packed.pack_transposed({t.data(), n, k, k}, {0, packed.panels()});
          } else {
            packed.pack({w.data(), k, n, n}, {0, packed.panels()});
          }
          std::vector<float> c = before;
          multiply<float>({a.data(), m, k, k + 3}, packed, {c.data(), m, n, n}, {0, packed.panels()}, start,
                          start == Start::bias ? bias.data() : nullptr);
          for (Index i = 0; i < m; ++i)
            for (Index j = 0; j < n; ++j) {
              float sum = start == Start::zero ? 0 : start == Start::bias ? bias[at(j)] : before[at(i * n + j)];
              for (Index l = 0; l < k; ++l)
                sum = std::fma(rounded(a[at(i * (k + 3) + l)]), rounded(w[at(l * n + j)]), sum);
              ASSERT_EQ(c[at(i * n + j)], sum) << m << " x " << k << " x " << n << " at " << i << ", " << j;
            }
        }
    }
}

TEST_F(Bf16, partial_bf16_products_leave_other_panels_unchanged) {
  const Index m = 5, k = 9, n = 8 * 32;
  const auto a = numbers(m * k), w = numbers(k * n);
  PackedMatrix<float> packed;
  packed.resize(k, n, Precision::bf16);
  packed.pack({w.data(), k, n, n}, {0, packed.panels()});
  std::vector<float> whole(at(m * n)), parts(at(m * n), 7.0F);
  multiply<float>({a.data(), m, k, k}, packed, {whole.data(), m, n, n}, {0, 8}, Start::zero);
  multiply<float>({a.data(), m, k, k}, packed, {parts.data(), m, n, n}, {Range{1, 2}, 2, 4}, Start::zero);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j)
      EXPECT_EQ(parts[at(i * n + j)], (j / 32) % 4 == 1 ? whole[at(i * n + j)] : 7.0F) << i << ", " << j;
}

TEST_F(Bf16, bf16_gradients_are_the_fma_chain_from_the_last_row) {
  for (const Index rows : {1, 2, 7, 256, 257, 600})
    for (const auto& [k, n] : {std::pair<Index, Index>{1, 1}, {5, 40}, {30, 128}, {14, 65}})
      for (const Start start : {Start::zero, Start::accumulate}) {
        const auto a = numbers(rows * k), d = numbers(rows * n), before = numbers(k * n);
        const Range part{k / 3, k};
        std::vector<float> g = before;
        accumulate_outer<float>({a.data(), rows, k, k}, {d.data(), rows, n, n}, {g.data(), k, n, n}, part, start,
                                Precision::bf16);
        for (Index i = 0; i < k; ++i)
          for (Index j = 0; j < n; ++j) {
            float sum = start == Start::zero && i >= part.begin ? 0 : before[at(i * n + j)];
            for (Index r = rows; r-- > 0 && i >= part.begin;)
              sum = std::fma(rounded(a[at(r * k + i)]), rounded(d[at(r * n + j)]), sum);
            ASSERT_EQ(g[at(i * n + j)], sum) << rows << " rows, " << i << ", " << j;
          }
      }
}

/// Returns the sums of a tile of 2 panels' width at most, computed by `kernels`.
std::vector<float> tile_sums(const Bf16Kernels& kernels, const std::vector<float>& a, const std::vector<float>& b,
                             std::vector<float> c, Index rows, Index k, Index panels, bool by_columns) {
  const FlushToZero mode(kernels.flushes_to_zero);
  const Index pairs = (k + 1) / 2, words = pairs * kernels.words_per_pair, columns = panels * kBf16Panel;
  std::vector<std::uint32_t> left(at(words * rows)), right(at(pairs * columns));
  std::vector<float> first(at(rows)), second(at(rows));
  for (Index p = 0; p < pairs; ++p) {
    const bool whole = 2 * p + 1 < k;
    for (Index m = 0; m < rows; ++m) first[at(m)] = a[at(m * k + 2 * p)], second[at(m)] = a[at(m * k + 2 * p + whole)];
    if (by_columns)
      kernels.round_columns(first.data(), whole ? second.data() : nullptr, rows,
                            left.data() + p * kernels.words_per_pair * rows);
    for (Index q = 0; q < panels; ++q) {
      const float* const row = b.data() + 2 * p * columns + q * kBf16Panel;
      kernels.pair_rows(row, whole ? row + columns : nullptr, kBf16Panel, right.data() + (q * pairs + p) * kBf16Panel);
    }
  }
  for (Index m = 0; m < rows && !by_columns; ++m) kernels.round_row(a.data() + m * k, k, left.data() + m * words);
  kernels.run_tile({.a = left.data(),
                    .by_columns = by_columns,
                    .a_row = words,
                    .b = right.data(),
                    .b_stride = pairs * kBf16Panel,
                    .pairs = pairs,
                    .c = c.data(),
                    .c_stride = columns},
                   rows, panels);
  return c;
}

TEST_F(Bf16, kernels_have_the_bits_of_the_emulation) {
  for (Index rows = 1; rows <= kBf16TileRows; ++rows)
    for (const Index panels : {Index{1}, Index{bf16_tile_panels(static_cast<int>(rows))}})
      for (const Index k : {1, 2, 7, 40})
        for (const bool by_columns : {false, true}) {
          const Index columns = panels * kBf16Panel;
          const auto a = numbers(rows * k), b = numbers(k * columns), c = numbers(rows * columns);
          const auto expected = tile_sums(*supported_bf16_kernels().front(), a, b, c, rows, k, panels, by_columns);
          for (const Bf16Kernels* kernels : supported_bf16_kernels())
            ASSERT_EQ(tile_sums(*kernels, a, b, c, rows, k, panels, by_columns), expected)
                << kernels->name << ": " << rows << " rows, " << panels << " panels, k = " << k;
        }
}

TEST_F(Bf16, kernels_of_one_processor_agree_on_tiny_and_infinite_sums) {
  const Index rows = 5, k = 6, columns = 2 * kBf16Panel;
  const auto supported = supported_bf16_kernels();
  for (const float scale : {1e-17F, 3e-19F, 1e-19F, 3e-20F, 1e-22F, 3e19F}) {
    auto a = numbers(rows * k), b = numbers(k * columns), c = numbers(rows * columns);
    for (float& x : a) x *= scale;
    for (float& x : b) x *= scale;
    for (float& x : c) x *= scale * scale;
    std::vector<std::vector<float>> sums;
    for (std::size_t i = 1; i < supported.size(); ++i)
      sums.push_back(tile_sums(*supported[i], a, b, c, rows, k, 2, false));
    for (const auto& other : sums)
      for (std::size_t i = 0; i < other.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(other[i]), std::bit_cast<std::uint32_t>(sums.front()[i])) << scale;
  }
}

TEST_F(Bf16, kernels_round_every_class_of_numbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0,       -0.0F,    1e-39F, -1e-39F, std::numeric_limits<float>::min(),
                          3.4e38F, infinity, 1,      -2.5F,   std::bit_cast<float>(0x7f800001U)};
  for (const float y : numbers(23)) x.push_back(y);
  const Index count = std::ssize(x);
  for (const Bf16Kernels* kernels : supported_bf16_kernels()) {
    std::vector<std::uint32_t> pairs(at(count)), row(at((count + 1) / 2 * kernels->words_per_pair));
    kernels->pair_rows(x.data(), x.data() + 1, count - 1, pairs.data());
    for (Index i = 0; i + 1 < count; ++i)
      EXPECT_EQ(pairs[at(i)], bf16_pair(x[at(i)], x[at(i + 1)])) << kernels->name << ", " << i;
    kernels->round_row(x.data(), count, row.data());
    for (Index i = 0; i < count; ++i) {
      const std::uint32_t word = row[at(kernels->words_per_pair == 1 ? i / 2 : i)];
      const bool upper = kernels->words_per_pair == 2 || i % 2 == 0;
      EXPECT_EQ(upper ? word >> 16 : word & 0xffff, to_bf16(x[at(i)])) << kernels->name << ", " << i;
    }
  }
}

}  // namespace
}  // namespace unfold::bf16_test
