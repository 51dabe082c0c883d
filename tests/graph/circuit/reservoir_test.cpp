#include "graph/circuit/reservoir.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

TEST(SpectralRadius, spectral_radius_is_the_largest_eigenvalue_modulus) {
  const Edges turn(2, 2, {{0, 1}, {1, 0}});  // eigenvalues +-sqrt(ab), here +-6i
  EXPECT_NEAR(spectral_radius(turn, {-4, 9}), 6, 1e-6);
  // A triangle with weights 2, a disjoint loop with weight 1.5, and a weight that leads only out of both.
  const Edges apart(5, 5, {{0, 1}, {1, 2}, {2, 0}, {3, 3}, {3, 4}});
  EXPECT_NEAR(spectral_radius(apart, {2, 2, 2, 1.5, 100}), 2, 1e-5);
}

TEST(SpectralRadius, spectral_radius_of_an_acyclic_graph_is_nearly_zero) {
  const Edges line(3, 3, {{0, 1}, {1, 2}});
  EXPECT_LT(spectral_radius(line, {3, 5}), 1e-3);
}

TEST(SpectralRadius, spectral_radius_of_a_large_random_matrix_is_accurate_to_one_thousandth) {
  const Reservoir made = random_reservoir(600, 10, 0.9, 3);
  // An independent estimate: the growth rate of a vector over many steps.
  std::vector<double> x(600, 1.0), y;
  double growth = 0;
  for (int step = 0; step < 4000; ++step) {
    y.assign(600, 0.0);
    for (std::size_t e = 0; e < made.weights.size(); ++e)
      y[at(made.edges->to()[e])] += made.weights[e] * x[at(made.edges->from()[e])];
    double norm = 0;
    for (const double v : y) norm += v * v;
    if (step >= 1000) growth += 0.5 * std::log(norm) / 3000;
    for (std::size_t i = 0; i < 600; ++i) x[i] = y[i] / std::sqrt(norm);
  }
  EXPECT_NEAR(std::exp(growth), 0.9, 2e-3);
}

TEST(Reservoir, reservoir_has_the_requested_radius_and_degree_and_depends_on_its_seed) {
  const Reservoir one = random_reservoir(80, 7, 1.3, 5), same = random_reservoir(80, 7, 1.3, 5),
                  other = random_reservoir(80, 7, 1.3, 6);
  EXPECT_EQ(one.edges->count(), 560);
  EXPECT_EQ(one.weights, same.weights);
  EXPECT_NE(one.weights, other.weights);
  EXPECT_NEAR(spectral_radius(*one.edges, one.weights), 1.3, 1e-6);
  EXPECT_EQ(random_reservoir(3, 10, 0.5, 1).edges->count(), 9);
  EXPECT_THROW(random_reservoir(0, 1, 0.5, 1), UsageError);
}

}  // namespace
}  // namespace unfold
