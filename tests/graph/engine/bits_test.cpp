/// Invariant 2: a sequence has identical bits alone and in a batch, in windows and whole, in the stepper, on any number
/// of threads and on every instruction set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "numerics/simd.h"
#include "tests/base/late_members.h"
#include "tests/support/circuits.h"
#include "tests/support/runner.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

using Kind = Structure::Kind;

/// Two layers with delays of one to three steps, a gate, a shared source and, optionally, a delayed link that is
/// outside the loop.
void build(Circuit& c, Index n, bool trained_initial = false, bool look_back = true) {
  const Signal s = c.symbols("s", 7), x = c.input("x", 3);
  const Signal h = c.link(n, Delay::previous(), trained_initial), far = c.link(n, Delay::previous(3), trained_initial);
  const auto [z, g] = c.split<2>(c.affine("a", 2 * n, {{"S", s}, {"X", x}, {"U", h}, {"F", far}}));
  const Signal y = h + sigmoid(g) * (tanh(z) - h);
  c.feed(h, y), c.feed(far, y);
  const Signal m = c.link(n);
  std::vector<Term> terms = {{"W", y}, {"U", m}};
  if (look_back) {
    const Signal before = c.link(n, Delay::previous(2));
    c.feed(before, y);
    terms.push_back({"B", before});
  }
  const Signal top = tanh(c.affine("b", n, terms));
  c.feed(m, top);
  c.output(c.affine("o", 7, {{"V", top}, {"Y", y}}));
}

/// A loop of vector maps.
void build_unitary(Circuit& c) {
  const Signal h = c.link(8, Delay::previous(), true);
  const Signal z =
      c.affine("z", 8, {{"S", c.symbols("s", 7)}, {.parameter = "U", .source = h, .op = unitary_map(4, 1)}});
  const Signal y = c.affine("h", 8, {{.parameter = "b", .source = z, .op = modulus_relu(4)}}, Init::zero(), false);
  c.feed(h, y);
  c.output(c.affine("o", 7, {{"V", y}}));
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

void expect_same(const test::Results<float>& a, const test::Results<float>& b, const std::string& what) {
  EXPECT_TRUE(same_bits(a.outputs, b.outputs)) << what;
  EXPECT_TRUE(same_bits(a.tangents, b.tangents)) << what;
  EXPECT_TRUE(same_bits(a.gradient, b.gradient)) << what;
  EXPECT_TRUE(same_bits(a.squared, b.squared)) << what;
}

const Index kLengths[] = {5, 12, 1, 7, 12, 3, 2, 9, 4};

TEST(Bits, bits_do_not_depend_on_threads) {
  for (const Index n : {5, 40}) {
    Circuit c;
    build(c, n, true);
    const Structure structure = Structure::chains(kLengths);
    const auto one = test::Runner<float>(c).run(structure);
    for (const int threads : {2, 3, 5})
      expect_same(test::Runner<float>(c, {}, threads).run(structure), one, std::to_string(threads) + " threads");
  }
}

/// Wide overlapping slices: if columns are divided among threads, threads share columns of the source.
TEST(Bits, vector_map_bits_do_not_depend_on_threads) {
  Circuit c;
  build_unitary(c);
  const Structure structure = Structure::chains(kLengths);
  const auto one = test::Runner<float>(c).run(structure);
  for (const int threads : {2, 3})
    expect_same(test::Runner<float>(c, {}, threads).run(structure), one, std::to_string(threads) + " threads");
}

TEST(Bits, bits_do_not_depend_on_the_division_of_a_loop) {
  Circuit c;
  build(c, 64, true);  // wide enough to assign units to threads
  for (const Structure& structure : {Structure::chains(kLengths), Structure::chains(4, 9)}) {
    const auto one = test::Runner<float>(c).run(structure);
    for (const int threads : {2, 3}) {
      test::Runner<float> runner(c, {}, threads);
      for (int pass = 0; pass < 12; ++pass)  // the first passes try every way to divide the work
        expect_same(runner.run(structure), one, "pass " + std::to_string(pass));
    }
  }
}

TEST(Bits, bits_do_not_depend_on_absent_threads) {
  Circuit c;
  build(c, 64, true);
  const Structure structure = Structure::chains(kLengths);
  const auto one = test::Runner<float>(c).run(structure);
  for (const int threads : {2, 3}) {
    test::Runner<float> runner(c, {}, threads, Attendance::adaptive);
    for (const bool away : {false, true, false, true}) {
      if (away) {
        EXPECT_TRUE(testing_support::comes_to(runner.team(), 1, std::chrono::milliseconds(3), 1));
      }
      for (int pass = 0; pass < 8; ++pass) expect_same(runner.run(structure), one, away ? "away" : "all there");
    }
  }
}

TEST(Bits, overlapping_slice_bits_do_not_depend_on_threads) {
  Circuit c;
  const Signal h = c.link(40), z = c.affine("z", 80, {{"W", c.input("x", 3)}, {"U", h}});
  const Signal y = tanh(c.slice(z, 0, 40)) * c.slice(z, 20, 40) + c.slice(z, 33, 40);
  c.feed(h, sigmoid(y));
  c.output(c.affine("o", 7, {{"V", y}}));
  const Structure structure = Structure::chains(kLengths);
  const auto one = test::Runner<float>(c).run(structure);
  for (int repeat = 0; repeat < 10; ++repeat)
    expect_same(test::Runner<float>(c, {}, 3).run(structure), one, "3 threads");
}

TEST(Bits, bits_do_not_depend_on_the_instruction_set) {
  Circuit c;
  build(c, 21, true);
  const Structure structure = Structure::chains(kLengths);
  const auto best = test::Runner<float>(c).run(structure);
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    expect_same(test::Runner<float>(c).run(structure), best, simd);
  }
  simd_limit(simd_available().front());
}

void expect_same_alone(const Circuit& c) {
  const Structure structure = Structure::chains(kLengths);
  test::Runner<float> batch(c), alone(c);
  const auto all = batch.run(structure);
  for (Index s = 0; s < structure.sequences(); ++s) {
    const auto one = alone.run(Structure::chains(1, structure.size(s)), {.sequences = {s}});
    const auto part = [&](const std::vector<float>& x) {
      return std::vector<float>(x.begin() + structure.item(s, 0) * 7,
                                x.begin() + (structure.item(s, 0) + structure.size(s)) * 7);
    };
    EXPECT_TRUE(same_bits(one.outputs, part(all.outputs))) << "sequence " << s;
    EXPECT_TRUE(same_bits(one.tangents, part(all.tangents))) << "sequence " << s;
  }
}

TEST(Bits, sequence_bits_are_the_same_alone_and_in_a_ragged_batch) {
  Circuit c, unitary;
  build(c, 11, true);
  build_unitary(unitary);
  expect_same_alone(c);
  expect_same_alone(unitary);
}

TEST(Bits, grid_and_tree_bits_are_the_same_alone_and_in_a_batch) {
  for (const Kind kind : {Kind::grids, Kind::trees})
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Circuit c;
      test::random_circuit(c, kind, seed);
      test::Runner<float> batch(c), alone(c);
      const std::pair<Index, Index> shapes[] = {{2, 3}, {4, 4}};
      const Tree trees[] = {test::random_tree(4, seed), test::random_tree(7, seed + 1)};
      const auto pick = [&](std::size_t first, std::size_t count) {
        return kind == Kind::grids ? Structure::grids(std::span(shapes).subspan(first, count))
                                   : Structure::trees(std::span(trees).subspan(first, count));
      };
      const auto all = batch.run(pick(0, 2));
      const auto second = alone.run(pick(1, 1), {.sequences = {1}});
      // Outputs are stored one after another; in each, the second sequence comes last.
      std::size_t from_all = 0, from_one = 0;
      for (const int output : c.outputs()) {
        const auto width = static_cast<std::size_t>(c.nodes()[static_cast<std::size_t>(output)].size);
        const std::size_t skip = static_cast<std::size_t>(pick(0, 1).positions()) * width;
        const std::size_t count = static_cast<std::size_t>(pick(1, 1).positions()) * width;
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(all.outputs[from_all + skip + i], second.outputs[from_one + i]) << seed;
        from_all += skip + count, from_one += count;
      }
    }
}

/// Windows of one to five steps with the state carried forward and its adjoint carried back. The gradient has the bits
/// of the whole if the plan guarantees it (recomputable); a delayed link outside a loop adds in a different order.
void expect_windows_equal_whole(const Circuit& c, bool look_back) {
  const Index total = 14, begins[] = {0, 1, 3, 4, 9, 14};
  test::Runner<float> whole(c);
  const auto expected = whole.run(Structure::chains(3, total));
  const Plan& plan = whole.unfolding().plan();
  EXPECT_EQ(plan.recomputable(), !look_back);

  std::vector<std::unique_ptr<test::Runner<float>>> windows;
  State<float> state(plan, 3), end(plan, 3), start(plan, 3);
  std::vector<float> outputs(expected.outputs.size()), gradient(expected.gradient.size());
  for (std::size_t w = 0; w + 1 < std::size(begins); ++w) {
    const Index length = begins[w + 1] - begins[w];
    windows.push_back(std::make_unique<test::Runner<float>>(c));
    windows.back()->lay(Structure::chains(3, length), {.begin = begins[w]});
    windows.back()->unfolding().forward(&state);
    const auto part = windows.back()->outputs();
    for (Index s = 0; s < 3; ++s)
      std::copy_n(part.begin() + s * length * 7, length * 7, outputs.begin() + (s * total + begins[w]) * 7);
  }
  EXPECT_TRUE(same_bits(outputs, expected.outputs));
  for (std::size_t w = windows.size(); w-- > 0;) {
    const bool last = w + 1 == windows.size();
    windows[w]->seed(false);
    windows[w]->unfolding().backward(gradient, {.accumulate = !last}, last ? nullptr : &end, &start);
    std::swap(start, end);
  }
  EXPECT_TRUE(look_back || same_bits(gradient, expected.gradient));
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], expected.gradient[i], 2e-5);
}

TEST(Bits, windows_with_carried_state_have_the_bits_of_one_long_window) {
  Circuit plain, trained, unitary;
  build(plain, 6, false, false);
  build(trained, 6, true, false);
  build_unitary(unitary);
  for (const Circuit* c : {&plain, &trained, &unitary}) expect_windows_equal_whole(*c, false);
}

TEST(Windows, windows_with_delayed_links_outside_a_loop_give_the_gradient_of_one_long_window) {
  Circuit plain, trained;
  build(plain, 6, false, true);
  build(trained, 6, true, true);
  for (const Circuit* c : {&plain, &trained}) expect_windows_equal_whole(*c, true);
}

TEST(Bits, reset_stream_has_the_bits_of_a_new_one) {
  Circuit c;
  build(c, 6, true);
  test::Runner<float> runner(c);
  State<float> state(runner.unfolding().plan(), 2);
  runner.lay(Structure::chains(2, 4), {.sequences = {5, 6}});
  runner.unfolding().forward(&state);
  state.reset(1);
  EXPECT_FALSE(state.fresh(0));
  EXPECT_TRUE(state.fresh(1));
  const auto after = runner.run(Structure::chains(2, 4), {}, &state).outputs;
  const auto fresh = test::Runner<float>(c).run(Structure::chains(2, 4)).outputs;
  EXPECT_TRUE(same_bits(std::vector<float>(after.begin() + 28, after.end()),
                        std::vector<float>(fresh.begin() + 28, fresh.end())));
  EXPECT_FALSE(same_bits(after, fresh));
}

TEST(Bits, state_slots_follow_their_sequence) {
  Circuit c;
  build(c, 6);
  test::Runner<float> runner(c);
  Unfolding<float>& u = runner.unfolding();
  State<float> state(u.plan(), 5), other(u.plan(), 1);
  const Index lengths[] = {2, 6, 3}, slots[] = {4, 0, 2};
  const Structure structure = Structure::chains(lengths);
  runner.lay(structure);
  u.lay(structure, slots);
  u.forward(&state);
  for (Index s = 0; s < 3; ++s) {
    test::Runner<float> alone(c);
    alone.lay(Structure::chains(1, lengths[s]), {.sequences = {s}});
    other.reset_all();
    alone.unfolding().forward(&other);
    EXPECT_EQ(0,
              std::memcmp(other.row(0), state.row(slots[s]), sizeof(float) * static_cast<std::size_t>(state.width())));
  }
  EXPECT_TRUE(state.fresh(1) && state.fresh(3));
  EXPECT_FALSE(state.fresh(4) || state.fresh(0) || state.fresh(2));
}

TEST(Stepper, stepper_has_the_bits_of_the_unfolding) {
  for (std::uint64_t seed = 0; seed < 41; ++seed) {
    Circuit c;
    if (seed == 0) build(c, 33, true);
    if (seed == 40) build_unitary(c);
    if (seed > 0 && seed < 40) test::random_circuit(c, Kind::chains, seed);
    const bool looks_ahead = std::any_of(c.nodes().begin(), c.nodes().end(), [](const Node& node) {
      return node.kind() == Node::Kind::link && node.link().delay.along != Delay::Along::previous;
    });
    if (looks_ahead) continue;
    test::Runner<float> runner(c);
    const auto expected = runner.run(Structure::chains(1, 9)).outputs;
    const Unfolding<float>& u = runner.unfolding();
    Team team(1);
    const auto plan = std::make_shared<const Plan>(c);
    Stepper<float> stepper(plan, runner.parameters(), team);
    for (int twice = 0; twice < 2; ++twice, stepper.reset())
      for (Index t = 0; t < 9; ++t) {
        for (std::size_t i = 0; i < c.nodes().size(); ++i) {
          if (!u.plan().live(static_cast<int>(i))) continue;
          const Node& node = c.nodes()[i];
          const Signal signal{&c, static_cast<int>(i)};
          if (node.kind() == Node::Kind::symbols)
            stepper.symbols(signal)[0] = runner.unfolding().symbols(signal)[static_cast<std::size_t>(t)];
          if (node.kind() == Node::Kind::input)
            std::copy_n(runner.unfolding().input(signal).row(t), node.size, stepper.input(signal).row(0));
        }
        stepper.step();
        std::size_t offset = 0;
        for (const int output : c.outputs()) {
          const Matrix<const float> row = stepper.value({&c, output});
          for (Index k = 0; k < row.cols; ++k)
            ASSERT_EQ(row(0, k), expected[offset + static_cast<std::size_t>(t * row.cols + k)]) << "circuit " << seed;
          offset += static_cast<std::size_t>(9 * row.cols);
        }
      }
  }
}

TEST(Stepper, stepper_rejects_a_circuit_that_looks_ahead) {
  Circuit c;
  const Signal h = c.link(2, Delay::next()), a = tanh(c.affine("a", 2, {{"U", h}}));
  c.feed(h, a), c.output(a);
  const auto plan = std::make_shared<const Plan>(c);
  const Parameters<float> parameters(c);
  Team team(1);
  EXPECT_THROW(Stepper<float>(plan, parameters, team), UsageError);
}

TEST(Plan, plan_rejects_a_loop_in_both_directions) {
  Circuit c;
  const Signal h = c.link(2), g = c.link(2, Delay::next());
  const Signal a = tanh(c.affine("a", 2, {{"U", h}, {"V", g}}));
  c.feed(h, a), c.feed(g, a), c.output(a);
  EXPECT_THROW(Plan{c}, UsageError);
}

TEST(Unfolding, unfolding_names_the_first_nonfinite_signal) {
  Circuit c;
  const Signal x = c.input("x", 1), y = log(c.affine("a", 1, {{"W", x}}));
  c.output(y);
  test::Runner<float> runner(c);
  const Index lengths[] = {3, 5};
  runner.lay(Structure::chains(lengths));
  Matrix<float> rows = runner.unfolding().input(x);
  Parameters<float> parameters(c);
  parameters.at("a/W")(0, 0) = 1;
  runner.unfolding().set_parameters(parameters);
  std::fill_n(rows.data, rows.rows, 2.0f);
  runner.unfolding().forward();
  EXPECT_EQ(runner.unfolding().first_non_finite(), "");
  rows(runner.unfolding().structure().row(1, 2), 0) = -1;
  runner.unfolding().forward();
  const std::string where = runner.unfolding().first_non_finite();
  EXPECT_NE(where.find("position 2 of sequence 1"), std::string::npos) << where;
}

}  // namespace
}  // namespace unfold
