/// Zoneout: during training some units keep their previous value; otherwise the mean over masks is used.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tests/support/runner.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/registry.h"

namespace unfold {
namespace {

struct Zoned {
  const char* name;
  std::function<Signal(Circuit&, Signal, Index, double rate)> add;
};

const std::vector<Zoned> kZoned = {
    {"rnn", [](Circuit& c, Signal x, Index n, double rate) { return rnn(c, x, n, {.zoneout = rate}); }},
    {"gru", [](Circuit& c, Signal x, Index n, double rate) { return gru(c, x, n, {.zoneout = rate}); }},
    {"lstm", [](Circuit& c, Signal x, Index n,
                double rate) { return lstm(c, x, n, {.zoneout = rate, .zoneout_cell = rate / 2}); }},
};

TEST(Zoneout, mean_zoneout_has_correct_derivatives) {
  const Index lengths[] = {3, 5, 1};
  for (const Zoned& cell : kZoned) {
    Circuit c;
    c.output(c.affine("logits", 3, {{"V", cell.add(c, c.symbols("x", 3), 3, 0.3)}}));
    const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths));
    EXPECT_TRUE(report.passed()) << cell.name << report.text();
  }
}

/// With a fixed seed, the derivatives are those of the masked network.
TEST(Zoneout, zoneout_keeps_its_masks_through_all_passes) {
  for (const Zoned& cell : kZoned) {
    Circuit c;
    c.output(c.affine("o", 2, {{"V", cell.add(c, c.input("x", 3), 4, 0.4)}}));
    test::Runner<double> runner(c);
    runner.unfolding().set_dropout_seed(9);
    const Structure structure = Structure::chains(2, 6);
    const auto results = runner.run(structure);
    const auto direction = test::some_direction<double>(c);
    Parameters<double> moved = runner.parameters();
    double slope = 0, inner = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) inner += results.gradient[i] * direction[i];
    const auto outputs_at = [&](double step) {
      for (std::size_t i = 0; i < direction.size(); ++i)
        moved.flat()[i] = runner.parameters().flat()[i] + step * direction[i];
      runner.unfolding().set_parameters(moved);
      runner.unfolding().forward();
      return runner.outputs();
    };
    const auto above = outputs_at(1e-5), below = outputs_at(-1e-5);
    runner.seed(false);
    const Matrix<double> seed = runner.unfolding().adjoint({&c, c.outputs().front()});
    runner.for_each_position([&](Index, Index, Index row, Index item) {
      for (Index i = 0; i < 2; ++i) slope += seed(row, i) * (above[at(item * 2 + i)] - below[at(item * 2 + i)]) / 2e-5;
    });
    EXPECT_NEAR(inner, slope, 1e-6 * std::max(1.0, std::abs(slope))) << cell.name;
    runner.unfolding().set_parameters(runner.parameters());
  }
}

/// One step from a carried state: a unit either keeps its value or takes the cell's value without zoneout. Outside
/// training the mean over masks is computed.
TEST(Zoneout, zoneout_keeps_or_updates_a_unit_and_evaluates_the_mean) {
  constexpr double kRate = 0.3;
  constexpr Index kUnits = 4;
  constexpr int kSeeds = 4000;
  for (const Zoned& cell : kZoned) {
    Circuit c, plain;
    c.output(cell.add(c, c.input("x", 3), kUnits, kRate));
    plain.output(cell.add(plain, plain.input("x", 3), kUnits, 0));
    test::Runner<double> runner(c), without(plain);
    const test::Window second{.sequences = {0}, .begin = 1};
    State<double> state(runner.unfolding().plan(), 1), before(without.unfolding().plan(), 1);
    runner.run(Structure::chains(1, 1), {}, &state);
    const auto start = runner.outputs();
    before.copy_slot(state, 0, 0);
    const auto moved = without.run(Structure::chains(1, 1), second, &before).outputs;
    const auto step = [&] {
      State<double> here(runner.unfolding().plan(), 1);
      here.copy_slot(state, 0, 0);
      return runner.run(Structure::chains(1, 1), second, &here).outputs;
    };
    const auto judged = step();
    std::vector<double> mean(kUnits, 0.0);
    for (int seed = 1; seed <= kSeeds; ++seed) {
      runner.unfolding().set_dropout_seed(static_cast<std::uint64_t>(seed));
      const auto drawn = step();
      for (std::size_t i = 0; i < kUnits; ++i) {
        mean[i] += drawn[i] / kSeeds;
        EXPECT_LT(std::min(std::abs(drawn[i] - start[i]), std::abs(drawn[i] - moved[i])), 1e-12) << cell.name;
      }
    }
    for (std::size_t i = 0; i < kUnits; ++i) {
      const double spread = std::abs(moved[i] - start[i]) * std::sqrt(kRate * (1 - kRate) / kSeeds);
      EXPECT_NEAR(judged[i], kRate * start[i] + (1 - kRate) * moved[i], 1e-12);
      EXPECT_NEAR(mean[i], judged[i], 5 * spread);
    }
  }
}

}  // namespace
}  // namespace unfold
