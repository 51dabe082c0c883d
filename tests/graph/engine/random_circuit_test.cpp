/// Random circuits over random structures: the plan with every optimization equals the plan without any, and both equal
/// the scalar graph. A failure names the responsible optimization.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/circuits.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

using Kind = Structure::Kind;
constexpr std::uint64_t kCircuits = 100;  // of each kind

constexpr PlanOptions kNone{
    .hoist = false, .fuse = false, .in_place = false, .scratch = false, .ring = false, .chain = false};

struct Optimization {
  const char* name;
  bool PlanOptions::*option;
};

constexpr Optimization kOptimizations[] = {{"hoist", &PlanOptions::hoist},       {"fuse", &PlanOptions::fuse},
                                           {"in_place", &PlanOptions::in_place}, {"scratch", &PlanOptions::scratch},
                                           {"ring", &PlanOptions::ring},         {"chain", &PlanOptions::chain}};

bool near(const std::vector<double>& x, const std::vector<double>& y) {
  double scale = 1e-300;
  for (const double v : y) scale = std::max(scale, std::fabs(v));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::fabs(x[i] - y[i]) <= 1e-12 * scale)) return false;
  return x.size() == y.size();
}

/// Returns the name of the result that differs; empty if none does.
std::string difference(const test::Results<double>& a, const test::Results<double>& b) {
  if (a.outputs != b.outputs) return "outputs (bits)";
  if (!near(a.tangents, b.tangents)) return "tangents";
  if (!near(a.gradient, b.gradient)) return "gradient";
  if (!near(a.squared, b.squared)) return "squared gradient";
  return "";
}

class RandomCircuit : public testing::TestWithParam<Kind> {};

/// Returns false if a result differs.
bool expect_same_without_optimizations(const Circuit& c, const Structure& structure, std::uint64_t seed) {
  const auto naive = test::Runner<double>(c, kNone).run(structure);
  const std::string what = difference(test::Runner<double>(c).run(structure), naive);
  if (what.empty()) return true;
  std::string guilty;
  for (const Optimization& optimization : kOptimizations) {
    PlanOptions without;
    without.*optimization.option = false;
    if (difference(test::Runner<double>(c, without).run(structure), naive).empty())
      guilty += std::string(" ") + optimization.name;
  }
  ADD_FAILURE() << "circuit " << seed << ": " << what
                << " differ; right again without:" << (guilty.empty() ? " none alone" : guilty) << "\n"
                << Plan(c).print();
  return false;
}

TEST_P(RandomCircuit, optimized_plan_equals_the_naive_plan) {
  for (std::uint64_t seed = 0; seed < kCircuits; ++seed) {
    Circuit c;
    test::random_circuit(c, GetParam(), seed);
    if (!expect_same_without_optimizations(c, test::random_structure(GetParam(), seed), seed)) return;
  }
}

/// More rows than a cache tile holds.
TEST(RandomCircuits, optimized_plan_equals_the_naive_plan_in_long_batches) {
  const Index ragged[] = {700, 900, 650, 1, 400};
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Circuit c;
    test::random_circuit(c, Kind::chains, seed);
    const Structure structure = seed % 2 ? Structure::chains(ragged) : Structure::chains(4, 800);
    if (!expect_same_without_optimizations(c, structure, seed)) return;
  }
}

TEST_P(RandomCircuit, random_circuit_equals_the_scalar_graph) {
  CheckOptions options;
  options.dense_parameters = 0;
  options.directions = 1;
  for (std::uint64_t seed = 0; seed < kCircuits / 2; ++seed) {
    Circuit c;
    test::random_circuit(c, GetParam(), seed);
    Passes passes(c, test::random_structure(GetParam(), seed), seed);
    // All checks except finite differences, which derivatives_test.cpp covers; they would be wrong at kinks here.
    const CheckReport report = check_derivatives(passes, *gaussian_loss<double>(), options);
    for (const CheckResult& result : report.results) {
      if (result.name == "gradient" || result.name == "tangent") continue;
      ASSERT_TRUE(result.passed()) << "circuit " << seed << "\n" << report.text() << Plan(c).print();
    }
  }
}

TEST_P(RandomCircuit, random_circuit_has_the_same_bits_on_two_threads_and_after_other_structures) {
  for (std::uint64_t seed = 0; seed < kCircuits / 3; ++seed) {
    Circuit c;
    test::random_circuit(c, GetParam(), seed);
    const Structure structure = test::random_structure(GetParam(), seed);
    const auto one = test::Runner<float>(c).run(structure);
    test::Runner<float> reused(c, {}, 2);
    reused.run(test::random_structure(GetParam(), seed + 1000));
    const auto two = reused.run(structure);
    ASSERT_EQ(one.outputs, two.outputs) << seed;
    ASSERT_EQ(one.tangents, two.tangents) << seed;
    ASSERT_EQ(one.gradient, two.gradient) << seed;
    ASSERT_EQ(one.squared, two.squared) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , RandomCircuit, testing::Values(Kind::chains, Kind::grids, Kind::trees), [](const auto& tested) {
      return std::string(tested.param == Kind::chains ? "chains" : tested.param == Kind::grids ? "grids" : "trees");
    });

}  // namespace
}  // namespace unfold
