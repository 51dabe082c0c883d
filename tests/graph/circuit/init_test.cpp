#include "unfold/graph/circuit/init.h"
#include "unfold/base/error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace unfold {
namespace {

std::vector<double> drawn(const Init& init, Index inputs, Index outputs, std::uint64_t seed = 1) {
  std::vector<double> w(static_cast<std::size_t>(inputs * outputs));
  fill(init, seed, "w", inputs, outputs, w.data());
  return w;
}

TEST(Init, initialization_depends_only_on_seed_and_name) {
  EXPECT_EQ(drawn(Init::uniform(), 5, 6), drawn(Init::uniform(), 5, 6));
  EXPECT_NE(drawn(Init::uniform(), 5, 6, 1), drawn(Init::uniform(), 5, 6, 2));
}

TEST(Init, uniform_initialization_fills_one_over_root_of_the_inputs) {
  double largest = 0;
  for (double x : drawn(Init::uniform(), 100, 50)) largest = std::max(largest, std::abs(x));
  EXPECT_LE(largest, 0.1);
  EXPECT_GT(largest, 0.099);
}

TEST(Init, normal_columns_have_separate_scales) {
  const std::vector<double> one = drawn(Init::normal_columns({1, 1, 1}), 40, 3);
  const std::vector<double> scaled = drawn(Init::normal_columns({2, 0.5, 0}), 40, 3);
  const double scales[] = {2, 0.5, 0};
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_DOUBLE_EQ(scaled[i], scales[i % 3] * one[i]);
}

TEST(Init, orthogonal_blocks_have_orthonormal_rows) {
  const Index n = 12;
  const auto w = drawn(Init::orthogonal(3), n, 3 * n);
  for (Index block = 0; block < 3; ++block)
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        double dot = 0;
        for (Index k = 0; k < n; ++k)
          dot += w[static_cast<std::size_t>(i * 3 * n + block * n + k)] *
                 w[static_cast<std::size_t>(j * 3 * n + block * n + k)];
        EXPECT_NEAR(dot, i == j ? 1 : 0, 1e-14);
      }
}

TEST(Init, orthogonal_blocks_with_more_inputs_have_orthonormal_columns) {
  const auto w = drawn(Init::orthogonal(1, 2.0), 9, 4);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      double dot = 0;
      for (std::size_t k = 0; k < 9; ++k) dot += w[k * 4 + i] * w[k * 4 + j];
      EXPECT_NEAR(dot, i == j ? 4 : 0, 1e-13);
    }
}

TEST(Init, every_identity_block_is_the_identity) {
  const auto w = drawn(Init::identity(2, 0.5), 3, 6);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(w[i * 6 + j], j % 3 == i ? 0.5 : 0);
}

TEST(Init, sparse_initialization_gives_every_output_n_inputs) {
  const auto w = drawn(Init::sparse(15), 40, 30);
  for (std::size_t j = 0; j < 30; ++j) {
    int count = 0;
    for (std::size_t i = 0; i < 40; ++i) count += w[i * 30 + j] != 0;
    EXPECT_EQ(count, 15);
  }
  for (double x : drawn(Init::sparse(15), 4, 3)) EXPECT_NE(x, 0);  // fewer inputs than requested: all are used
}

TEST(Init, normalized_initialization_is_symmetric_with_largest_eigenvalue_one) {
  const std::size_t n = 20;
  const auto w = drawn(Init::normalized(), 20, 20);
  std::vector<double> v(n, 1), next(n);
  double eigenvalue = 0;
  for (int k = 0; k < 500; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = 0;
      for (std::size_t j = 0; j < n; ++j) {
        next[i] += w[i * n + j] * v[j];
        EXPECT_NEAR(w[i * n + j], w[j * n + i], 1e-15);
      }
    }
    eigenvalue = 0;
    for (double x : next) eigenvalue += x * x;
    eigenvalue = std::sqrt(eigenvalue);
    for (std::size_t i = 0; i < n; ++i) v[i] = next[i] / eigenvalue;
  }
  EXPECT_NEAR(eigenvalue, 1, 1e-6);
}

TEST(Init, chrono_initialization_gives_opposite_gate_biases_within_the_time_scales) {
  const std::size_t n = 50;
  const auto b = drawn(Init::chrono({-1, 1, 0, 0}, 100), 1, 200);
  for (std::size_t j = 0; j < n; ++j) {
    EXPECT_EQ(b[j], -b[n + j]);
    EXPECT_GE(b[n + j], 0);
    EXPECT_LE(b[n + j], std::log(99.0));
    EXPECT_EQ(b[2 * n + j], 0);
    EXPECT_EQ(b[3 * n + j], 0);
  }
}

TEST(Init, blocks_that_do_not_divide_the_columns_are_rejected) {
  EXPECT_THROW(drawn(Init::orthogonal(4), 3, 6), UsageError);
}

}  // namespace
}  // namespace unfold
