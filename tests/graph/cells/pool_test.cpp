/// Pooling of a sequence into one vector, compared with simple computations of means, maxima and ends; all derivative
/// checks.

#include "unfold/graph/cells/pool.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/loss/loss.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kSize = 3;
const std::vector<Index> kLengths = {4, 1, 7, 1, 2};

/// The pooled inputs: given vectors, in one or both directions.
template <class T>
struct Given {
  Given(Pool how, int directions) {
    for (int d = 0; d < directions; ++d) layer.push_back(c.input("x" + std::to_string(d), kSize));
    for (const Signal& part : pool(c, layer, how)) parts.push_back(c.map(Map::copy, part));
    for (const Signal& part : parts) c.output(part);
    plan = std::make_shared<const Plan>(c);
  }

  /// Returns the pooled parts at every position as [rows] of vectors. Inputs are functions of (sequence, position).
  std::vector<std::vector<T>> run(const std::vector<Index>& lengths, Index first, State<T>* state) {
    Team team(1);
    Unfolding<T> u(plan, team);
    const Structure s = Structure::chains(lengths);
    u.lay(s);
    u.set_parameters(parameters);
    for (std::size_t d = 0; d < layer.size(); ++d)
      if (plan->live(layer[d].id)) fill(s, first, static_cast<int>(d), u.input(layer[d]));
    u.forward(state);
    std::vector<std::vector<T>> rows(at(s.positions()));
    for (const Signal& part : parts)
      for (Index r = 0; r < s.positions(); ++r)
        rows[at(r)].insert(rows[at(r)].end(), u.value(part).row(r), u.value(part).row(r) + kSize);
    return rows;
  }

  static void fill(const Structure& s, Index first, int direction, Matrix<T> x) {
    for (Index e = 0; e < s.sequences(); ++e)
      for (Index p = 0; p < s.size(e); ++p)
        for (Index i = 0; i < kSize; ++i) x(s.row(e, p), i) = value(direction, e, first + p, i);
  }
  /// All negative in the second sequence, all equal in the third component.
  static T value(int direction, Index sequence, Index position, Index component) {
    Random random(9, static_cast<std::uint64_t>(direction + 10 * sequence + 1000 * position + 100000 * component));
    const double x = random.normal();
    if (component == 2) return static_cast<T>(0.1);
    return static_cast<T>(sequence == 1 ? -std::abs(x) - 1 : x);
  }

  Circuit c;
  std::vector<Signal> layer, parts;
  std::shared_ptr<const Plan> plan;
  Parameters<T> parameters{c};
};

/// Pools by definition, from all positions up to and including one.
template <class T>
std::vector<double> slowly(Pool how, int directions, Index sequence, Index position) {
  std::vector<double> result;
  const auto each = [&](int d, auto&& of) {
    for (Index i = 0; i < kSize; ++i)
      result.push_back(of([&, d, i](Index p) { return static_cast<double>(Given<T>::value(d, sequence, p, i)); }));
  };
  const auto wanted = [&](Pool one) { return how == one || how == Pool::all; };
  for (int d = 0; d < directions; ++d) {
    if (wanted(Pool::mean))
      each(d, [&](auto&& x) {
        double sum = 0;
        for (Index p = 0; p <= position; ++p) sum += x(p);
        return sum / static_cast<double>(position + 1);
      });
    if (wanted(Pool::max))
      each(d, [&](auto&& x) {
        double most = x(0);
        for (Index p = 1; p <= position; ++p) most = std::max(most, x(p));
        return most;
      });
    if (wanted(Pool::last)) each(d, [&](auto&& x) { return x(d == 0 ? position : 0); });
  }
  return result;
}

constexpr Pool kPools[] = {Pool::last, Pool::mean, Pool::max, Pool::all};

template <class T>
void expect_slow_values(double tolerance) {
  for (const Pool how : kPools)
    for (const int directions : {1, 2}) {
      Given<T> given(how, directions);
      const auto found = given.run(kLengths, 0, nullptr);
      const Structure s = Structure::chains(kLengths);
      for (Index e = 0; e < s.sequences(); ++e)
        for (Index p = 0; p < s.size(e); ++p) {
          const std::vector<double> expected = slowly<T>(how, directions, e, p);
          const std::vector<T>& row = found[at(s.row(e, p))];
          ASSERT_EQ(row.size(), expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(row[i], expected[i], tolerance) << "sequence " << e << " position " << p << " number " << i;
        }
    }
}

TEST(Pool, pooling_equals_slow_mean_maximum_and_ends_of_ragged_sequences) {
  expect_slow_values<double>(1e-14);
  expect_slow_values<float>(1e-6);
}

/// A sequential sum loses at most half a unit in the last place per addition.
TEST(Pool, pooling_of_a_long_sequence_keeps_the_precision_of_a_sum) {
  constexpr Index kLong = 20000;
  for (const Pool how : {Pool::mean, Pool::max}) {
    Given<float> given(how, 1);
    const auto found = given.run({kLong}, 0, nullptr);
    const std::vector<double> expected = slowly<float>(how, 1, 0, kLong - 1);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found.back()[i], expected[i], kLong * 0x1p-24 * (1 + std::abs(expected[i])));
  }
}

TEST(Pool, windowed_pooling_with_carried_state_equals_the_whole) {
  for (const Pool how : kPools)
    for (const int directions : {1, 2}) {
      Given<double> given(how, directions);
      const auto whole = given.run({7, 5}, 0, nullptr);
      State<double> state(*given.plan, 2);
      state.reset_all();
      (void)given.run({3, 3}, 0, &state);
      const auto rest = given.run({4, 2}, 3, &state);
      const Structure all = Structure::chains(std::vector<Index>{7, 5}),
                      end = Structure::chains(std::vector<Index>{4, 2});
      for (Index e = 0; e < 2; ++e)
        for (Index p = 0; p < end.size(e); ++p) EXPECT_EQ(rest[at(end.row(e, p))], whole[at(all.row(e, p + 3))]);
    }
}

/// Checks a one-layer network that predicts from pooled values.
void check_pooled(Pool how, bool both_directions, bool trained_initial) {
  Circuit c;
  const Signal x = c.symbols("x", 4);
  std::vector<Signal> layer = {gru(c, x, 2, {.trained_initial = trained_initial})};
  if (both_directions) {
    const auto scope = c.scope("back");
    const auto reversed = c.reversed();
    layer.push_back(lstm(c, x, 2, {.trained_initial = trained_initial}));
  }
  c.output(c.affine("logits", 3, {{"V", c.join(pool(c, layer, how))}}));
  const CheckReport report =
      check_derivatives(c, *softmax_loss<double>(), Structure::chains(std::vector<Index>{5, 1, 3, 1}));
  EXPECT_TRUE(report.passed()) << static_cast<int>(how) << both_directions << report.text();
  for (const CheckResult& check : report.results) EXPECT_TRUE(check.run || check.name == "path") << check.name;
}

TEST(Pool, pooling_has_correct_derivatives_in_one_and_both_directions) {
  for (const Pool how : kPools)
    for (const bool both_directions : {false, true})
      for (const bool trained_initial : {false, true}) check_pooled(how, both_directions, trained_initial);
}

TEST(Pool, maximum_gradient_goes_to_its_position_and_mean_gradient_to_all) {
  for (const Pool how : {Pool::mean, Pool::max}) {
    Circuit c;
    const Signal x = c.input("x", 1), z = c.affine("z", 1, {{"W", x}});
    const Signal pooled = pool(c, {&z, 1}, how).front();
    c.output(pooled);
    Team team(1);
    const auto plan = std::make_shared<const Plan>(c);
    Unfolding<double> u(plan, team);
    u.lay(Structure::chains(1, 4));
    Parameters<double> parameters(c);
    parameters.at("z/W")(0, 0) = 1;
    u.set_parameters(parameters);
    const double given[] = {-2, 5, 3, -7};
    std::copy_n(given, 4, u.input(x).data);
    u.forward();
    u.clear_adjoints();
    u.adjoint(pooled)(3, 0) = 1;
    std::vector<double> gradient(at(c.parameter_count()));
    u.backward(gradient);
    const Matrix<const double> b = u.affine_adjoint(z);
    for (Index r = 0; r < 4; ++r) EXPECT_NEAR(b(r, 0), how == Pool::mean ? 0.25 : r == 1 ? 1 : 0, 1e-15) << r;
  }
}

}  // namespace
}  // namespace unfold
