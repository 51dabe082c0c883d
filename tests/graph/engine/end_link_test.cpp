/// Links along `first` and `last`: all positions of a chain read the same position. The adjoints of all positions
/// accumulate in one row.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/paths/path_pass.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/gradcheck/scalar_graph.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

const Index kEndLengths[] = {5, 12, 1, 7, 12, 3, 2};

Signal linked(Circuit& c, Signal source, Delay delay) {
  const Signal link = c.link(source.size(), delay);
  c.feed(link, source);
  return link;
}

/// h_t = tanh(W x_t + U h at a neighbor)
Signal recurrence(Circuit& c, Signal x, Index n, Delay delay, const char* scope) {
  const auto inside = c.scope(scope);
  const Signal h = c.link(n, delay, true), next = tanh(c.affine("z", n, {{"W", x}, {"U", h}}));
  c.feed(h, next);
  return next;
}

/// A bidirectional network whose readout sees, at every position, h of the last and g of the first position.
void build_classifier(Circuit& c, Index n) {
  const Signal x = c.symbols("x", 4);
  const Signal h = recurrence(c, x, n, Delay::previous(), "right"), g = recurrence(c, x, n, Delay::next(), "left");
  c.output(c.affine("o", 7, {{"H", linked(c, h, Delay::last())}, {"G", linked(c, g, Delay::first())}}));
}

/// Ends of an input, a slice, a map and an output, read by maps, by products and by a second loop.
void build_mixed(Circuit& c, Index n) {
  const Signal x = c.input("x", 3), s = c.symbols("s", 4);
  const Signal h = recurrence(c, s, n, Delay::previous(), "h");
  const auto [a, b] = c.split<2>(c.affine("a", 2 * n, {{"X", x}, {"H", h}, {"E", linked(c, x, Delay::last())}}));
  const Signal m = tanh(a) * linked(c, b, Delay::first()) + linked(c, h, Delay::last()) * linked(c, h, Delay::first());
  const Signal context = c.affine("context", n, {{"M", linked(c, m, Delay::last())}, {"X", x}});
  const Signal top = recurrence(c, context, n, Delay::previous(), "top");
  const Signal o = c.affine("o", 7, {{"V", top}, {"M", m}});
  c.output(o);
  c.output(c.affine("p", 7, {{"O", linked(c, o, Delay::last())}, {"F", linked(c, o, Delay::first())}}));
}

/// Causal: the first position is available to all later ones.
void build_causal(Circuit& c, Index n) {
  const Signal s = c.symbols("s", 4);
  const Signal h = recurrence(c, s, n, Delay::previous(), "h");
  const Signal top = recurrence(c, tanh(c.affine("a", n, {{"H", h}, {"F", linked(c, h, Delay::first())}})), n,
                                Delay::previous(2), "top");
  c.output(c.affine("o", 7, {{"V", top}, {"F", linked(c, top, Delay::first())}}));
}

using Build = void (*)(Circuit&, Index);
const Build kBuilds[] = {build_classifier, build_mixed, build_causal};

bool same_bits(std::span<const float> x, std::span<const float> y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
}

TEST(EndLinks, end_links_have_correct_derivatives_on_ragged_chains) {
  const Index lengths[] = {3, 6, 1, 4};
  for (const Build build : kBuilds) {
    Circuit c;
    build(c, 2);
    CheckOptions options;
    options.dense_parameters = 60;
    const CheckReport report = check_derivatives(c, *gaussian_loss<double>(), Structure::chains(lengths), options);
    EXPECT_TRUE(report.passed()) << report.text() << Plan(c).print();
  }
}

TEST(EndLinks, end_links_have_the_same_bits_alone_and_in_a_ragged_batch) {
  for (const Build build : kBuilds) {
    Circuit c;
    build(c, 11);
    const Structure structure = Structure::chains(kEndLengths);
    test::Runner<float> batch(c, {}, 2), alone(c);
    const auto all = batch.run(structure);
    for (Index s = 0; s < structure.sequences(); ++s) {
      const Index rows = structure.size(s);
      const auto one = alone.run(Structure::chains(1, rows), {.sequences = {s}});
      for (std::size_t output = 0; output < c.outputs().size(); ++output) {
        const auto from = static_cast<std::size_t>(7 * rows) * output, count = static_cast<std::size_t>(7 * rows);
        const auto begin =
            static_cast<std::size_t>(7 * (static_cast<Index>(output) * structure.positions() + structure.item(s, 0)));
        for (auto part : {&test::Results<float>::outputs, &test::Results<float>::tangents})
          EXPECT_TRUE(same_bits(std::span(one.*part).subspan(from, count), std::span(all.*part).subspan(begin, count)))
              << "sequence " << s;
      }
    }
  }
}

TEST(EndLinks, end_link_bits_do_not_depend_on_threads) {
  for (const Build build : kBuilds)
    for (const Structure& structure :
         {Structure::chains(kEndLengths), Structure::chains(4, 9), Structure::chains(1, 5)}) {
      Circuit c;
      build(c, 40);
      const auto one = test::Runner<float>(c).run(structure);
      for (const int threads : {2, 3}) {
        const auto many = test::Runner<float>(c, {}, threads).run(structure);
        for (auto part : {&test::Results<float>::outputs, &test::Results<float>::tangents,
                          &test::Results<float>::gradient, &test::Results<float>::squared})
          EXPECT_TRUE(same_bits(many.*part, one.*part)) << threads << " threads";
      }
    }
}

TEST(EndLinks, links_to_the_first_position_can_be_stepped) {
  Circuit c;
  build_causal(c, 6);
  test::Runner<float> runner(c);
  const Index length = 9;
  const auto whole = runner.run(Structure::chains(1, length)).outputs;
  Team team(1);
  Stepper<float> stepper(std::make_shared<const Plan>(c), runner.parameters(), team);
  const Signal s{&c, 0}, o{&c, c.outputs()[0]};
  for (int pass = 0; pass < 2; ++pass, stepper.reset())
    for (Index t = 0; t < length; ++t) {
      stepper.symbols(s)[0] = runner.unfolding().symbols(s)[static_cast<std::size_t>(t)];
      stepper.step();
      EXPECT_TRUE(
          same_bits({stepper.value(o).row(0), 7}, std::span(whole).subspan(static_cast<std::size_t>(7 * t), 7)));
    }
}

TEST(EndLinks, links_to_the_first_position_carry_value_and_adjoint_across_windows) {
  Circuit c;
  build_causal(c, 6);
  const Index total = 11, begins[] = {0, 1, 5, 11};
  test::Runner<double> whole(c);
  const auto expected = whole.run(Structure::chains(2, total));
  const Plan& plan = whole.unfolding().plan();
  EXPECT_FALSE(plan.recomputable());
  std::vector<std::unique_ptr<test::Runner<double>>> windows;
  State<double> state(plan, 2), end(plan, 2), start(plan, 2);
  for (std::size_t w = 0; w + 1 < std::size(begins); ++w) {
    const Index length = begins[w + 1] - begins[w];
    windows.push_back(std::make_unique<test::Runner<double>>(c));
    windows[w]->lay(Structure::chains(2, length), {.begin = begins[w]});
    windows[w]->unfolding().forward(&state);
    const auto part = windows[w]->outputs();
    for (Index s = 0; s < 2; ++s)
      EXPECT_TRUE(std::equal(part.begin() + s * length * 7, part.begin() + (s + 1) * length * 7,
                             expected.outputs.begin() + (s * total + begins[w]) * 7));
  }
  std::vector<double> gradient(expected.gradient.size());
  for (std::size_t w = windows.size(); w-- > 0;) {
    const bool last = w + 1 == windows.size();
    windows[w]->seed(false);
    windows[w]->unfolding().backward(gradient, {.accumulate = !last}, last ? nullptr : &end, &start);
    std::swap(start, end);
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], expected.gradient[i], 1e-11);
}

/// h_t = relu(W x_t + U h at a neighbor), read at an end.
Signal end_of_relus(Circuit& c, Signal x, Delay delay, Delay end, const char* scope) {
  const auto inside = c.scope(scope);
  const Signal h = c.link(2, delay), next = relu(c.affine("z", 2, {{"W", x}, {"U", h}}));
  c.feed(h, next);
  return linked(c, next, end);
}

void expect_path_sums(const Circuit& c, bool with_second) {
  const Parameters<double> p = test::some_parameters<double>(c);
  for (Index length = 1; length <= 4; ++length) {
    const ScalarGraph graph(c, Structure::chains(1, length), p.flat(), {}, ScalarGraph::Reading::paths);
    std::vector<Index> ends;
    for (Index row = 0; row < length; ++row)
      for (Index k = 0; k < 2; ++k) ends.push_back(graph.node(c.outputs()[0], row, k));
    const ScalarGraph::PathSums sums = graph.sum_paths(ends);
    Team team(1);
    PathPass<double> pass(c, team);
    std::vector<double> kappa(p.flat().size());
    EXPECT_NEAR(pass.run(p, {.length = length, .with_second = with_second}, kappa).norm.value(), sums.total,
                1e-12 * sums.total);
    for (std::size_t i = 0; i < kappa.size(); ++i)
      EXPECT_NEAR(kappa[i], sums.kappa[i] + (with_second ? sums.kappa2[i] : 0), 1e-11 * (1 + sums.kappa[i]));
  }
}

TEST(EndLinks, end_link_path_sums_equal_enumeration) {
  Circuit both, causal;
  const Signal x = both.input("x", 1), y = causal.input("y", 1);
  both.output(both.affine("o", 2,
                          {{"H", end_of_relus(both, x, Delay::previous(), Delay::last(), "right")},
                           {"G", end_of_relus(both, x, Delay::next(), Delay::first(), "left")}}));
  causal.output(causal.affine("o", 2,
                              {{"H", end_of_relus(causal, y, Delay::previous(), Delay::last(), "last")},
                               {"G", end_of_relus(causal, y, Delay::previous(), Delay::first(), "first")}}));
  expect_path_sums(both, false);
  expect_path_sums(causal, false);
  expect_path_sums(causal, true);
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(EndLinks, end_links_in_a_loop_are_rejected) {
  for (const Delay delay : {Delay::first(), Delay::last()}) {
    Circuit c;
    const Signal h = c.link(2), end = c.link(2, delay);
    const Signal a = tanh(c.affine("a", 2, {{"X", c.input("x", 2)}, {"U", h}, {"E", end}}));
    c.feed(h, a), c.feed(end, a), c.output(a);
    const std::string message = message_of([&] { Plan{c}; });
    EXPECT_NE(message.find("along " + describe(delay)), std::string::npos) << message;

    Circuit own;  // no other link: it would read itself at the same position
    const Signal self = own.link(2, delay), b = tanh(own.affine("b", 2, {{"E", self}}));
    own.feed(self, b), own.output(b);
    EXPECT_NE(message_of([&] { Plan{own}; }).find("along " + describe(delay)), std::string::npos);
  }
}

TEST(EndLinks, end_links_to_missing_positions_are_rejected) {
  Circuit c;
  EXPECT_NE(message_of([&] { c.link(2, Delay::last(), true); }).find("cannot have a trained initial state"),
            std::string::npos);
  EXPECT_NE(message_of([&] { c.link(2, {Delay::Along::first, 2}); }).find("along first"), std::string::npos);
  const Tree tree{{{-1}}};
  for (const Structure& structure : {Structure::trees({&tree, 1}), Structure::grids({{{2, 2}}})})
    EXPECT_NE(message_of([&] { structure.predecessors(Delay::last(), Corner::top_left); }).find("along last"),
              std::string::npos);
  c.output(tanh(c.affine("a", 2, {{"E", linked(c, c.input("x", 2), Delay::last())}})));
  const auto plan = std::make_shared<const Plan>(c);
  EXPECT_FALSE(plan->recomputable());
  const Parameters<float> parameters(c);
  Team team(1);
  EXPECT_NE(message_of([&] { Stepper<float>(plan, parameters, team); }).find("along last"), std::string::npos);
}

}  // namespace
}  // namespace unfold
