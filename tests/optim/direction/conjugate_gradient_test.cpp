#include "optim/direction/conjugate_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

/// A symmetric positive definite system and its solution by elimination.
struct System {
  explicit System(std::size_t n_, double least = 0.1) : n(n_), a(n * n), b(n), x(n) {
    Random random(4, "system");
    Vector root(n * n);
    for (double& r : root) r = random.normal();
    for (double& v : b) v = random.normal();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < n; ++k) a[i * n + j] += root[i * n + k] * root[j * n + k];
        if (i == j) a[i * n + j] += least;
      }
    eliminate();
  }
  void eliminate() {
    Vector m = a, y = b;
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = k + 1; i < n; ++i) {
        const double f = m[i * n + k] / m[k * n + k];
        for (std::size_t j = k; j < n; ++j) m[i * n + j] -= f * m[k * n + j];
        y[i] -= f * y[k];
      }
    for (std::size_t i = n; i-- > 0;) {
      x[i] = y[i];
      for (std::size_t j = i + 1; j < n; ++j) x[i] -= m[i * n + j] * x[j];
      x[i] /= m[i * n + i];
    }
  }
  void multiply(std::span<const double> v, std::span<double> result) const {
    for (std::size_t i = 0; i < n; ++i) {
      result[i] = 0;
      for (std::size_t j = 0; j < n; ++j) result[i] += a[i * n + j] * v[j];
    }
  }
  double q(std::span<const double> v) const {
    Vector av(n);
    multiply(v, av);
    double result = 0;
    for (std::size_t i = 0; i < n; ++i) result += v[i] * (av[i] / 2 - b[i]);
    return result;
  }
  CgResult<double> solve(const Vector& preconditioner, const Vector& start, const CgOptions& options,
                         int threads = 1) const {
    Team team(threads);
    return conjugate_gradient<double>(
        team, [&](std::span<const double> v, std::span<double> r) { multiply(v, r); }, b, preconditioner, start,
        options);
  }

  std::size_t n;
  Vector a, b, x;
};

double distance(const Vector& x, const Buffer<double>& y) {
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::fabs(x[i] - y[static_cast<Index>(i)]));
  return most;
}

const CgOptions kToTheEnd{.iterations = 60, .tolerance = 0};

TEST(ConjugateGradient, conjugate_gradient_solves_a_quadratic_exactly) {
  const System system(20);
  const Vector zero(20);
  Vector diagonal(20), random(20);
  for (std::size_t i = 0; i < 20; ++i) diagonal[i] = system.a[21 * i], random[i] = std::sin(static_cast<double>(i));
  for (const Vector& preconditioner : {Vector{}, diagonal})
    for (const Vector& start : {zero, random}) {
      const auto found = system.solve(preconditioner, start, kToTheEnd);
      EXPECT_LT(distance(system.x, found.iterates.back().x), 1e-8);
      EXPECT_NEAR(found.iterates.back().q, system.q(system.x), 1e-9);
    }
}

TEST(ConjugateGradient, iterations_do_not_exceed_the_number_of_distinct_eigenvalues) {
  System system(12);
  std::fill(system.a.begin(), system.a.end(), 0);
  for (std::size_t i = 0; i < 12; ++i) system.a[13 * i] = static_cast<double>(1 + i % 3);
  system.eliminate();
  const auto found = system.solve({}, Vector(12), {.iterations = 3, .tolerance = 0});
  EXPECT_LT(distance(system.x, found.iterates.back().x), 1e-12);
}

TEST(ConjugateGradient, iterates_are_kept_at_growing_distances_with_their_values) {
  const System system(40, 0.01);
  const auto found = system.solve({}, Vector(40), {.iterations = 25, .tolerance = 0});
  ASSERT_EQ(found.iterations, 25);
  std::vector<Index> kept;
  for (const auto& iterate : found.iterates) {
    kept.push_back(iterate.iteration);
    EXPECT_NEAR(iterate.q, system.q(iterate.x.span()), 1e-9);
  }
  EXPECT_EQ(kept, (std::vector<Index>{1, 2, 3, 4, 6, 7, 10, 12, 16, 20, 25}));
  for (std::size_t i = 1; i < found.iterates.size(); ++i) EXPECT_LT(found.iterates[i].q, found.iterates[i - 1].q);
}

TEST(ConjugateGradient, initial_vector_is_scaled_optimally) {
  const System system(40, 0.01);
  Vector start = system.x;
  for (double& v : start) v *= 1000;  // the best multiple is 1/1000, the solution
  const auto found = system.solve({}, start, {.iterations = 1, .tolerance = 0});
  EXPECT_NEAR(found.iterates.back().q, system.q(system.x), 1e-9);
  for (double& v : start) v = -v;  // uphill: q is smallest at 0
  const auto uphill = system.solve({}, start, {.iterations = 5, .tolerance = 0});
  const auto zero = system.solve({}, Vector(40), {.iterations = 5, .tolerance = 0});
  EXPECT_EQ(uphill.iterates.back().q, zero.iterates.back().q);
  for (double& v : start) v = -v / 2000;  // halfway: it is not extended
  const auto half = system.solve({}, start, {.iterations = 1, .tolerance = 0});
  EXPECT_LE(half.iterates.back().q, system.q(start));
}

TEST(ConjugateGradient, martens_rule_stops_the_iteration) {
  const System system(80, 1);
  const auto whole = system.solve({}, Vector(80), {.iterations = 200, .tolerance = 0});
  const double tolerance = 5e-3;
  const auto found = system.solve({}, Vector(80), {.iterations = 200, .tolerance = tolerance});
  EXPECT_LT(found.iterations, whole.iterations);
  Vector q = {0};  // q of every iterate, from a separate solve each
  for (Index i = 1; i <= found.iterations; ++i)
    q.push_back(system.solve({}, Vector(80), {.iterations = i, .tolerance = 0}).iterates.back().q);
  const auto stops = [&](Index i) {
    const Index k = std::max<Index>(10, i / 10);
    const double now = q[static_cast<std::size_t>(i)];
    return i > k && now < 0 && (now - q[static_cast<std::size_t>(i - k)]) / now < static_cast<double>(k) * tolerance;
  };
  for (Index i = 1; i < found.iterations; ++i) EXPECT_FALSE(stops(i)) << i;
  EXPECT_TRUE(stops(found.iterations));
}

TEST(ConjugateGradient, solution_as_initial_vector_is_kept) {
  const System system(6);
  const auto at_zero = [&] {
    System none = system;
    std::fill(none.b.begin(), none.b.end(), 0);
    return none.solve({}, Vector(6), kToTheEnd);
  }();
  EXPECT_EQ(at_zero.iterations, 0);
  ASSERT_EQ(at_zero.iterates.size(), 1u);
  EXPECT_EQ(at_zero.iterates[0].q, 0);
}

TEST(ConjugateGradient, nonpositive_curvature_stops_the_iteration) {
  System system(3);
  system.a = {1, 0, 0, 0, -1, 0, 0, 0, 1};
  system.b = {0, 1, 0};
  const auto found = system.solve({}, Vector(3), kToTheEnd);
  EXPECT_EQ(found.iterations, 0);
  EXPECT_EQ(found.iterates.back().x[1], 0);
}

TEST(ConjugateGradient, conjugate_gradient_has_the_same_bits_for_every_team) {
  const System system(50);
  const Vector start(50, 0.1), preconditioner(50, 2);
  const auto one = system.solve(preconditioner, start, {}), two = system.solve(preconditioner, start, {}, 2);
  EXPECT_TRUE(std::equal(one.iterates.back().x.begin(), one.iterates.back().x.end(), two.iterates.back().x.begin()));
}

}  // namespace
}  // namespace unfold
