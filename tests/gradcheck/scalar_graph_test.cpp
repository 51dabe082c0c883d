/// The scalar reference compared with results computed by hand.

#include "unfold/gradcheck/scalar_graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

/// Seeds for `backward`: one component of one signal.
Vector seed(const ScalarGraph& graph, Index node) {
  Vector seeds(static_cast<std::size_t>(graph.nodes()));
  seeds[static_cast<std::size_t>(node)] = 1;
  return seeds;
}

Vector parameters_of(const ScalarGraph& graph, Vector sums) {
  sums.resize(static_cast<std::size_t>(graph.parameters()));
  return sums;
}

TEST(ScalarGraph, scalar_chain_equals_hand_computation) {
  // h_t = u h_{t-1} + w x_t + b; parameters by name: U, W, bias.
  Circuit c;
  const Signal x = c.input("x", 1), h = c.link(1);
  const Signal next = c.affine("z", 1, {{"W", x}, {"U", h}});
  c.feed(h, next);
  c.output(next);
  const double u = 0.5, w = 2, b = 0.25;
  const ScalarGraph graph(c, Structure::chains(1, 3), Vector{u, w, b}, {{{x.id, {1, 2, 3}}}, {}});
  const double h0 = w + b, h1 = u * h0 + 2 * w + b, h2 = u * h1 + 3 * w + b;
  EXPECT_DOUBLE_EQ(graph.value(graph.node(next.id, 0)), h0);
  EXPECT_DOUBLE_EQ(graph.value(graph.node(next.id, 1)), h1);
  EXPECT_DOUBLE_EQ(graph.value(graph.node(next.id, 2)), h2);
  const Vector linear = parameters_of(graph, graph.backward(seed(graph, graph.node(next.id, 2)), false));
  EXPECT_DOUBLE_EQ(linear[0], h1 + u * h0);
  EXPECT_DOUBLE_EQ(linear[1], 3 + 2 * u + u * u);
  EXPECT_DOUBLE_EQ(linear[2], 1 + u + u * u);
  const Vector squared = parameters_of(graph, graph.backward(seed(graph, graph.node(next.id, 2)), true));
  EXPECT_DOUBLE_EQ(squared[0], h1 * h1 + u * u * h0 * h0);
  EXPECT_DOUBLE_EQ(squared[1], 9 + 4 * u * u + u * u * u * u);
  EXPECT_DOUBLE_EQ(squared[2], 1 + u * u + u * u * u * u);
}

TEST(ScalarGraph, missing_and_short_inputs_are_refused) {
  Circuit c;
  const Signal x = c.input("x", 2), s = c.symbols("s", 3);
  c.output(c.affine("y", 1, {{"W", x}, {"V", s}}, Init::zero(), false));
  const Vector parameters(5, 1.0);
  const auto graph = [&](const CircuitInputs& inputs) { ScalarGraph(c, Structure::chains(1, 2), parameters, inputs); };
  graph({{{x.id, {1, 2, 3, 4}}}, {{s.id, {0, 2}}}});
  EXPECT_THROW(graph({}), UsageError);
  EXPECT_THROW(graph({{{x.id, {1, 2, 3}}}, {{s.id, {0, 2}}}}), UsageError);
  EXPECT_THROW(graph({{{x.id, {1, 2, 3, 4}}}, {}}), UsageError);
  EXPECT_THROW(graph({{{x.id, {1, 2, 3, 4}}}, {{s.id, {0}}}}), UsageError);
}

TEST(ScalarGraph, repeated_signal_counts_two_edges) {
  Circuit c;
  const Signal a = c.affine("a", 1, {{"W", c.input("x", 1)}}, Init::zero(), false);
  const Signal twice = a + a, doubled = 2.0 * a, product = a * a;
  c.output(twice), c.output(doubled), c.output(product);
  const ScalarGraph graph(c, Structure::chains(1, 1), Vector{3}, {{{0, {1}}}, {}});
  const auto both = [&](Signal s, bool squared) {
    return graph.backward(seed(graph, graph.node(s.id, 0)), squared)[0];
  };
  EXPECT_DOUBLE_EQ(both(twice, false), 2);
  EXPECT_DOUBLE_EQ(both(doubled, false), 2);
  EXPECT_DOUBLE_EQ(both(twice, true), 2);     // 1^2 + 1^2
  EXPECT_DOUBLE_EQ(both(doubled, true), 4);   // 2^2
  EXPECT_DOUBLE_EQ(both(product, true), 18);  // 3^2 + 3^2
}

TEST(ScalarGraph, symbols_are_read_as_rows_and_missing_ones_as_zero) {
  Circuit c;
  const Signal s = c.symbols("s", 3);
  const Signal z = c.affine("z", 2, {{"W", s}}, Init::zero(), false);
  c.output(z);
  const ScalarGraph graph(c, Structure::chains(1, 2), Vector{1, 2, 3, 4, 5, 6}, {{}, {{s.id, {2, kNoSymbol}}}});
  EXPECT_EQ(graph.value(graph.node(z.id, 0, 0)), 5);
  EXPECT_EQ(graph.value(graph.node(z.id, 0, 1)), 6);
  EXPECT_EQ(graph.value(graph.node(z.id, 1, 1)), 0);
}

/// z = z_left + z_up + x on a grid, z = z_child0 - 2 z_child1 + x on a tree: sums with a closed form.
TEST(ScalarGraph, scalar_graph_supports_grids_and_trees) {
  Circuit grid;
  const Signal x = grid.input("x", 1), left = grid.link(1, Delay::left()), up = grid.link(1, Delay::up());
  const Signal z = left + up + x;
  grid.feed(left, z), grid.feed(up, z), grid.output(z);
  const std::pair<Index, Index> shape{2, 3};
  const Structure plane = Structure::grids({&shape, 1});
  const ScalarGraph g(grid, plane, Vector{}, {{{x.id, Vector(6, 1)}}, {}});
  const double expected[] = {1, 2, 3, 2, 5, 9};
  for (Index p = 0; p < 6; ++p) EXPECT_EQ(g.value(g.node(z.id, plane.row(0, p))), expected[p]);

  Circuit tree;
  const Signal y = tree.input("y", 1), first = tree.link(1, Delay::child(0)), second = tree.link(1, Delay::child(1));
  const Signal v = first + -2.0 * second + y;
  tree.feed(first, v), tree.feed(second, v), tree.output(v);
  const Tree family{{{1, 2}, {-1, 3}, {}, {}}};
  const Structure structure = Structure::trees({&family, 1});
  Vector given(4);
  for (Index p = 0; p < 4; ++p) given[static_cast<std::size_t>(structure.row(0, p))] = std::pow(10, p);
  const ScalarGraph t(tree, structure, Vector{}, {{{y.id, given}}, {}});
  EXPECT_EQ(t.value(t.node(v.id, structure.row(0, 1))), 10 - 2 * 1000);
  EXPECT_EQ(t.value(t.node(v.id, structure.row(0, 0))), 1 + (10 - 2 * 1000) - 2 * 100);
}

TEST(ScalarGraph, boundary_reads_the_trained_initial_state) {
  Circuit c;
  const Signal x = c.input("x", 1), h = c.link(1, Delay::next(2), true);
  const Signal z = h + x;
  c.feed(h, z), c.output(z);
  const ScalarGraph graph(c, Structure::chains(1, 3), Vector{7}, {{{x.id, {1, 2, 3}}}, {}});
  EXPECT_EQ(graph.value(graph.node(z.id, 0)), 1 + 3 + 7);
  EXPECT_EQ(graph.value(graph.node(z.id, 1)), 2 + 7);
  EXPECT_EQ(graph.backward(seed(graph, graph.node(z.id, 0)), false)[0], 1);
}

Circuit& recurrent_relu(Circuit& c) {
  const Signal x = c.symbols("x", 2), h = c.link(2, Delay::previous(), true), far = c.link(2, Delay::previous(2));
  const Signal a = relu(c.affine("a", 2, {{"W", x}, {"U", h}}) + -0.5 * far);
  c.feed(h, a), c.feed(far, a);
  c.output(c.affine("o", 1, {{"V", a}}));
  return c;
}

Vector some_parameters(const Circuit& c) {
  Random random(1, "parameters");
  Vector p;
  for (Index i = 0; i < c.parameter_count(); ++i) p.push_back(random.normal());
  return p;
}

TEST(ScalarGraph, path_sums_equal_path_enumeration) {
  Circuit c;
  recurrent_relu(c);
  const Vector p = some_parameters(c);
  const ScalarGraph graph(c, Structure::chains(1, 4), p, {{}, {{0, {0, 1, 1, 0}}}});
  std::vector<Index> all;
  for (Index i = 0; i < graph.parameters(); ++i) all.push_back(i);
  const Vector from = seed(graph, graph.node(c.outputs()[0], 3));
  for (const bool squared : {false, true}) {
    const Vector fast = parameters_of(graph, graph.backward(from, squared));
    const Vector slow = graph.backward_by_enumeration(from, squared, all);
    double largest = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) {
      EXPECT_NEAR(fast[i], slow[i], 1e-12);
      largest = std::max(largest, std::fabs(fast[i]));
    }
    EXPECT_GT(largest, 0);
  }
}

TEST(ScalarGraph, tangent_is_the_transpose_of_backward) {
  Circuit c;
  recurrent_relu(c);
  const ScalarGraph graph(c, Structure::chains(1, 4), some_parameters(c), {{}, {{0, {0, 1, 1, 0}}}});
  const Index end = graph.node(c.outputs()[0], 3);
  const Vector back = graph.backward(seed(graph, end), false);
  for (Index i = 0; i < graph.parameters(); ++i)
    EXPECT_NEAR(graph.tangent(seed(graph, i))[static_cast<std::size_t>(end)], back[static_cast<std::size_t>(i)], 1e-12);
}

TEST(ScalarGraph, enumerated_paths_sum_to_the_squared_circuit) {
  Circuit c;
  recurrent_relu(c);
  const Vector p = some_parameters(c);
  const Structure chain = Structure::chains(1, 4);
  const auto total = [&](const Vector& at, Vector* kappa) {
    const ScalarGraph graph(c, chain, at, {}, ScalarGraph::Reading::paths);
    const std::vector<Index> ends = {graph.node(c.outputs()[0], 2), graph.node(c.outputs()[0], 3)};
    const ScalarGraph::PathSums sums = graph.sum_paths(ends);
    EXPECT_NEAR(sums.total, graph.value(ends[0]) + graph.value(ends[1]), 1e-12 * sums.total);
    EXPECT_GT(graph.count_paths(ends), 50);
    if (kappa) *kappa = sums.kappa;
    return sums.total;
  };
  Vector kappa;
  total(p, &kappa);
  for (std::size_t i = 0; i < p.size(); ++i) {  // d/d(p^2) by changing p^2
    Vector above = p, below = p;
    const double h = 1e-4 * p[i] * p[i];
    above[i] = std::sqrt(p[i] * p[i] + h), below[i] = std::sqrt(p[i] * p[i] - h);
    EXPECT_NEAR(kappa[i], (total(above, nullptr) - total(below, nullptr)) / (2 * h), 1e-6 * kappa[i]);
  }
}

TEST(ScalarGraph, single_path_equals_hand_computation) {
  Circuit c;
  const Signal x = c.input("x", 1);
  const Signal z = c.affine("z", 1, {{"W", x}});
  c.output(3.0 * z);
  const ScalarGraph graph(c, Structure::chains(1, 1), Vector{2, 5}, {}, ScalarGraph::Reading::paths);  // W, bias
  const std::vector<Index> ends = {graph.node(c.outputs()[0], 0)};
  EXPECT_EQ(graph.count_paths(ends), 2);
  const ScalarGraph::PathSums sums = graph.sum_paths(ends);
  EXPECT_EQ(sums.total, 9 * (4 + 25));
  EXPECT_EQ(sums.kappa, (Vector{9, 9}));
}

TEST(ScalarGraph, self_dependent_circuit_is_rejected) {
  Circuit c;
  const Signal x = c.input("x", 1), before = c.link(1), after = c.link(1, Delay::next());
  const Signal z = before + after + x;
  c.feed(before, z), c.feed(after, z), c.output(z);
  EXPECT_THROW(ScalarGraph(c, Structure::chains(1, 3), Vector{}, {{{x.id, {1, 2, 3}}}, {}}), UsageError);
}

}  // namespace
}  // namespace unfold
