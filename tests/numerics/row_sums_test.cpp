#include "numerics/row_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "numerics/functions.h"
#include "numerics/simd.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold::row_sums_test {
namespace {

template <class T>
std::vector<T> drawn(Index n, std::string_view name) {
  Random random(1, name);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& v : x) v = static_cast<T>(random.normal());
  return x;
}

template <class T>
std::span<const T> part(const std::vector<T>& x, Index begin, Index n) {
  return std::span<const T>(x).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n));
}

constexpr Index kLengths[] = {1, 3, 7, 16, 17, 31, 64, 100, 133, 500, 5000}, kCounts[] = {0, 1, 2, 3, 4, 5, 9};

template <class Check>
void on_every_instruction_set(const Check& check) {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    for (const Index n : kLengths)
      for (const Index count : kCounts) {
        SCOPED_TRACE(target + ", " + std::to_string(count) + " rows of " + std::to_string(n));
        check(n, count, float{});
        check(n, count, double{});
      }
  }
  simd_limit(simd_available().front());
}

TEST(RowSums, grouped_row_products_have_the_bits_of_each_alone) {
  on_every_instruction_set([]<class T>(Index n, Index count, T) {
    const auto rows = drawn<T>(n * count, "rows"), h = drawn<T>(n, "h");
    std::vector<T> out(static_cast<std::size_t>(count));
    row_products(rows.data(), count, h.data(), n, out.data());
    for (Index j = 0; j < count; ++j)
      EXPECT_EQ(out[static_cast<std::size_t>(j)], static_cast<T>(dot<T>(part(rows, j * n, n), h))) << j;
  });
}

TEST(RowSums, row_sums_are_added_row_by_row) {
  on_every_instruction_set([]<class T>(Index n, Index count, T) {
    const auto rows = drawn<T>(n * count, "rows"), a = drawn<T>(count, "a");
    auto y = drawn<T>(n, "y"), expected = y;
    std::vector<const T*> list;
    for (Index j = count; j-- > 0;) {
      list.push_back(rows.data() + j * n);
      axpy<T>(a[static_cast<std::size_t>(count - 1 - j)], part(rows, j * n, n), expected);
    }
    add_scaled_rows(a.data(), list.data(), count, y.data(), n);
    EXPECT_EQ(y, expected);
  });
}

TEST(RowSums, fused_sum_and_sigmoid_have_the_bits_of_separate_steps) {
  on_every_instruction_set([]<class T>(Index n, Index, T) {
    const auto row = drawn<T>(n, "row");
    auto y = drawn<T>(n, "y"), expected = y;
    const T a = T(-1.25);
    axpy<T>(a, row, expected);
    std::vector<T> out(y.size()), expected_out(y.size());
    vector_sigmoid(expected.data(), expected_out.data(), n);
    add_row_and_sigmoid(a, row.data(), y.data(), out.data(), n);
    EXPECT_EQ(y, expected);
    EXPECT_EQ(out, expected_out);
  });
}

TEST(RowSums, sigmoid_slopes_equal_their_definition) {
  on_every_instruction_set([]<class T>(Index n, Index, T) {
    const auto h = drawn<T>(n, "h");
    auto v = drawn<T>(n, "v"), y = drawn<T>(n, "y"), expected = y;
    auto sum = drawn<T>(n, "sum"), expected_sum = sum;
    const T a = T{0.7F};
    for (std::size_t i = 0; i < h.size(); ++i) {
      expected[i] += h[i] * (1 - h[i]) * v[i];
      expected_sum[i] = std::fma(a, expected[i], expected_sum[i]);
    }
    add_sigmoid_slopes(h.data(), v.data(), y.data(), a, sum.data(), n);
    EXPECT_EQ(y, expected);
    EXPECT_EQ(sum, expected_sum);
    EXPECT_EQ(v, std::vector<T>(v.size()));
  });
}

}  // namespace
}  // namespace unfold::row_sums_test
