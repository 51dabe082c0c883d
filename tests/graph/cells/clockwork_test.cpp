/// Units that update at multiples of their periods: derivatives, reference equations, and skipped computations.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/runner.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

using Row = std::vector<double>;

Structure chains_of_some_lengths() {
  const Index lengths[] = {5, 9, 1, 4};
  return Structure::chains(lengths);
}

void expect_right(const Circuit& c, const Structure& structure) {
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), structure);
  EXPECT_TRUE(report.passed()) << report.text();
}

TEST(Clockwork, clockwork_rnn_has_correct_derivatives) {
  for (const bool trained : {false, true})
    for (const Map activation : {Map::tanh, Map::sigmoid}) {
      Circuit c;
      const ClockworkOptions options{.activation = activation, .periods = {1, 2, 3}, .trained_initial = trained};
      Signal x = c.symbols("x", 3);
      {
        const auto scope = c.scope("below");
        x = clockwork(c, x, 4, options);
      }
      c.output(c.affine("logits", 3, {{"V", clockwork(c, x, 3, options)}}));
      expect_right(c, chains_of_some_lengths());
    }
  Circuit c;
  const auto from_the_end = c.reversed();
  c.output(c.affine("logits", 3, {{"V", clockwork(c, c.symbols("x", 3), 4, {.periods = {2, 5}})}}));
  expect_right(c, chains_of_some_lengths());
}

/// h^g_t = tanh(x_t W_g + sum over j >= g of h^j_{t-1} U_gj + b_g) if p_g divides t, otherwise h^g_{t-1}.
TEST(Clockwork, clockwork_rnn_follows_its_equations) {
  constexpr Index kInputs = 2, kUnits = 5, kSteps = 13;
  const std::vector<Index> periods = {1, 3, 4}, first = {0, 1, 3, 5};
  Circuit c;
  const Signal x = c.input("x", kInputs);
  c.output(clockwork(c, x, kUnits, {.periods = periods}));
  test::Runner<double> runner(c);
  const auto outputs = runner.run(Structure::chains(1, kSteps)).outputs;
  Parameters<double> p = runner.parameters();
  Row h(at(kUnits), 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    Row next = h;
    Random random = test::numbers("input", "x", 0, t);
    Row read(at(kInputs));
    for (double& v : read) v = random.normal();
    for (std::size_t g = 0; g < periods.size(); ++g) {
      if (t % periods[g] != 0) continue;
      const std::string z = "z" + std::to_string(g + 1);
      for (Index i = 0; i < first[g + 1] - first[g]; ++i) {
        double sum = p.at(z + "/bias")(0, i);
        for (Index k = 0; k < kInputs; ++k) sum += read[at(k)] * p.at(z + "/W")(k, i);
        for (std::size_t j = g; j < periods.size(); ++j)
          for (Index k = first[j]; k < first[j + 1]; ++k)
            sum += h[at(k)] * p.at(z + "/U" + std::to_string(j + 1))(k - first[j], i);
        next[at(first[g] + i)] = std::tanh(sum);
      }
    }
    h = next;
    for (Index i = 0; i < kUnits; ++i) EXPECT_NEAR(outputs[at(t * kUnits + i)], h[at(i)], 1e-13) << t;
  }
}

/// The same circuit with and without the promise that slow groups are needed only at some positions: all numbers are
/// equal, alone and in a ragged batch, with one thread and two.
TEST(OnlyWhere, skipping_rows_changes_no_result) {
  const auto build = [](Circuit& c, bool promised) {
    const Signal x = c.input("x", 3), symbols = c.symbols("s", 4), h = c.link(20), fast = c.link(20);
    const Signal begun = c.link(20), earlier = c.link(20, Delay::previous(3));
    c.feed(begun, 0.0 * begun + 1.0);
    const Signal now = one_minus(begun) + earlier;
    c.feed(earlier, now);
    const Signal z = c.affine("z", 20, {{"W", x}, {"S", symbols}, {"U", h}});
    if (promised) c.compute_only_where(z, now, 3);
    const Signal next = h + now * (tanh(z) - h);
    c.feed(h, next);
    const Signal quick = tanh(c.affine("y", 20, {{"W", x}, {"U", fast}, {"F", h}}));
    c.feed(fast, quick);
    c.output(c.affine("o", 3, {{"V", next}, {"Q", quick}}));
  };
  Circuit plain, promised;
  build(plain, false);
  build(promised, true);
  for (const Structure& structure : {chains_of_some_lengths(), Structure::chains(3, 8)})
    for (const int threads : {1, 2}) {
      test::Runner<float> a(plain, {}, threads), b(promised, {}, threads);
      const auto want = a.run(structure), have = b.run(structure);
      EXPECT_EQ(want.outputs, have.outputs);
      EXPECT_EQ(want.tangents, have.tangents);
      EXPECT_EQ(want.gradient, have.gradient);
      EXPECT_EQ(want.squared, have.squared);
    }
}

/// A value that is 0 despite its bias was never computed.
TEST(OnlyWhere, unneeded_rows_are_not_computed) {
  Circuit c;
  const Signal x = c.input("x", 3), begun = c.link(4), earlier = c.link(4, Delay::previous(4));
  c.feed(begun, 0.0 * begun + 1.0);
  const Signal now = one_minus(begun) + earlier;
  c.feed(earlier, now);
  const Signal z = c.affine("z", 4, {{"W", x}});
  c.compute_only_where(z, now, 4);
  c.output(z);
  test::Runner<double> runner(c);
  const auto outputs = runner.run(Structure::chains(2, 9)).outputs;
  for (Index s = 0; s < 2; ++s)
    for (Index t = 0; t < 9; ++t)
      for (Index i = 0; i < 4; ++i) EXPECT_EQ(outputs[at((s * 9 + t) * 4 + i)] != 0, t % 4 == 0) << t;
  EXPECT_EQ(Plan(c).flops_per_position(), 2 * 3 * 4 / 4.0);
}

TEST(OnlyWhere, unsupported_row_skipping_is_rejected) {
  Circuit c;
  const Signal x = c.input("x", 2), z = c.affine("z", 2, {{"W", x}});
  EXPECT_THROW(c.compute_only_where(tanh(z), x, 2), UsageError);
  EXPECT_THROW(c.compute_only_where(z, x, 0), UsageError);
  c.compute_only_where(z, x, 2);
  EXPECT_THROW(c.compute_only_where(z, x, 2), UsageError);
}

/// Multiplications per position: groups of n / 4 units with periods 1, 2, 4, 8 read 4, 3, 2, 1 groups.
TEST(Clockwork, clockwork_rnn_computes_only_active_groups) {
  constexpr Index kUnits = 64, kInputs = 10;
  Circuit c, all;
  c.output(clockwork(c, c.input("x", kInputs), kUnits));
  all.output(rnn(all, all.input("x", kInputs), kUnits));
  const double group = kUnits / 4.0;
  double want = 0;
  for (int g = 0; g < 4; ++g) want += 2 * group * (kInputs + (4 - g) * group) / (1 << g);
  EXPECT_EQ(Plan(c).flops_per_position(), want + kUnits);  // plus copying the output into place
  EXPECT_LT(Plan(c).flops_per_position(), 0.45 * Plan(all).flops_per_position());
}

TEST(Clockwork, clockwork_rnn_has_the_same_bits_stepped_and_in_windows) {
  Circuit c;
  const Signal x = c.symbols("x", 3), y = c.affine("o", 3, {{"V", clockwork(c, x, 6, {.periods = {1, 2, 5}})}});
  c.output(y);
  constexpr Index kSteps = 17;
  test::Runner<float> whole(c);
  const auto want = whole.run(Structure::chains(1, kSteps)).outputs;
  Team team(1);
  Stepper<float> stepper(std::make_shared<const Plan>(c), whole.parameters(), team);
  for (Index t = 0; t < kSteps; ++t) {
    stepper.symbols(x)[0] = whole.unfolding().symbols(x)[at(t)];
    stepper.step();
    for (Index i = 0; i < 3; ++i) EXPECT_EQ(stepper.value(y)(0, i), want[at(t * 3 + i)]) << t;
  }
}

}  // namespace
}  // namespace unfold
