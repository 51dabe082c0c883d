#include "numerics/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold::layer_norm_test {
namespace {

constexpr Index kRows = 3;

/// Rows of n numbers with canaries between them.
template <class T>
struct Rows {
  Rows(Index n, const std::string& name) : numbers(at(kRows * (n + 2))), matrix{numbers.data(), kRows, n, n + 2} {
    Random random(1, name);
    for (T& v : numbers) v = static_cast<T>(random.normal() + 0.5);
  }
  std::span<const T> row(Index r) const { return {matrix.row(r), at(matrix.cols)}; }
  std::vector<T> numbers;
  Matrix<T> matrix;
};

/// The equations of the header, step by step.
template <class T>
T normalized_plainly(std::span<const T> x, std::vector<T>& z) {
  const T share = 1 / static_cast<T>(x.size()), mean = static_cast<T>(sum(x)) * share;
  z.assign(x.begin(), x.end());
  for (T& v : z) v -= mean;
  const T variance = static_cast<T>(sum_of_squares(std::span<const T>(z))) * share;
  const T s = 1 / std::sqrt(variance + static_cast<T>(1e-5));
  for (T& v : z) v *= s;
  return s;
}

template <class T>
void moments_taken_out_plainly(const std::vector<T>& z, std::vector<T>& e) {
  const T share = 1 / static_cast<T>(z.size()), mean = static_cast<T>(sum(std::span<const T>(e))) * share;
  const T along = static_cast<T>(dot(std::span<const T>(e), std::span<const T>(z))) * share;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const T product = z[i] * along;
    e[i] = e[i] - mean - product;
  }
}

template <class Check>
void on_every_set(const Check& check) {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    for (const Index n : {1, 2, 3, 7, 16, 17, 31, 64, 100, 133, 500, 5000}) {
      SCOPED_TRACE(target + ", " + std::to_string(n));
      check(n, float{});
      check(n, double{});
    }
  }
  simd_limit(simd_available().front());
}

TEST(Normalize, normalize_has_the_bits_of_its_separate_steps) {
  on_every_set([]<class T>(Index n, T) {
    const Rows<T> x(n, "x");
    std::vector<T> z(at(n)), expected;
    const T s = normalize(x.matrix.row(1), n, z.data());
    EXPECT_EQ(s, normalized_plainly(x.row(1), expected));
    EXPECT_EQ(z, expected);
    std::vector<T> e(x.row(2).begin(), x.row(2).end()), e_expected = e;
    project_out_moments(z.data(), n, e.data());
    moments_taken_out_plainly(z, e_expected);
    EXPECT_EQ(e, e_expected);
  });
}

TEST(Normalize, normalized_rows_are_added_with_their_gains) {
  on_every_set([]<class T>(Index n, T) {
    const Rows<T> x(n, "x"), gain(n, "gain");
    Rows<T> y(n, "y"), expected(n, "y");
    std::vector<T> z(at(n));
    for (Index r = 0; r < kRows; ++r) {
      normalized_plainly(x.row(r), z);
      for (Index i = 0; i < n; ++i) {
        const T product = gain.matrix(0, i) * z[at(i)];
        expected.matrix(r, i) += product;
      }
    }
    add_normalized<T>(x.matrix, gain.matrix.row(0), y.matrix, z.data());
    EXPECT_EQ(y.numbers, expected.numbers);
  });
}

TEST(Normalize, adjoint_is_set_or_added) {
  on_every_set([]<class T>(Index n, T) {
    const Rows<T> x(n, "x"), gain(n, "gain"), dy(n, "dy");
    for (const bool sets : {false, true}) {
      Rows<T> dx(n, "dx"), expected(n, "dx");
      std::vector<T> z, e(at(n)), scratch(at(2 * n));
      for (Index r = 0; r < kRows; ++r) {
        const T s = normalized_plainly(x.row(r), z);
        for (Index i = 0; i < n; ++i) e[at(i)] = gain.matrix(0, i) * dy.matrix(r, i);
        moments_taken_out_plainly(z, e);
        for (Index i = 0; i < n; ++i) {
          const T change = s * e[at(i)];
          expected.matrix(r, i) = sets ? change : expected.matrix(r, i) + change;
        }
      }
      normalized_adjoint<T>(x.matrix, gain.matrix.row(0), dy.matrix, dx.matrix, sets, scratch.data());
      EXPECT_EQ(dx.numbers, expected.numbers) << sets;
    }
  });
}

TEST(Normalize, gradient_is_summed_from_the_last_row) {
  on_every_set([]<class T>(Index n, T) {
    const Rows<T> x(n, "x"), dy(n, "dy");
    Rows<T> dg(n, "dg"), expected(n, "dg");
    std::vector<T> z(at(n));
    for (Index r = kRows; r-- > 0;) {
      normalized_plainly(x.row(r), z);
      for (Index i = 0; i < n; ++i) {
        const T product = z[at(i)] * dy.matrix(r, i);
        expected.matrix(0, i) += product;
      }
    }
    add_normalized_gradient<T>(x.matrix, dy.matrix, dg.matrix.row(0), z.data());
    EXPECT_EQ(dg.numbers, expected.numbers);
  });
}

}  // namespace
}  // namespace unfold::layer_norm_test
