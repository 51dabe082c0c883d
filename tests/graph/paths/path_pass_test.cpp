/// Sums over paths, compared with enumerating all paths, finite differences and closed forms.

#include "graph/paths/path_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/paths/path_unfolding.h"
#include "graph/paths/row_sums.h"
#include "tests/support/circuits.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/scalar_graph.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

/// One or two layers of ReLU units with biases and logits.
void layers(Circuit& c, Index count) {
  Signal x = c.symbols("x", 2);
  for (Index l = 0; l < count; ++l) {
    const auto scope = c.scope("layer" + std::to_string(l));
    const Signal h = c.link(2);
    x = relu(c.affine("z", 2, {{"W", x}, {"U", h}}));
    c.feed(h, x);
  }
  c.output(c.affine("o", 2, {{"V", x}}));
}

/// A loop through two affine maps, so that a weight reaches itself through the other one.
void two_maps_in_a_loop(Circuit& c) {
  const Signal x = c.input("x", 1), h = c.link(2);
  const Signal f = c.affine("f", 2, {{"U", h}}), next = relu(c.affine("z", 2, {{"W", x}, {"F", f}})) - 0.5 * h;
  c.feed(h, next);
  c.output(c.map(Map::copy, next));
}

struct Net {
  const char* name;
  std::function<void(Circuit&)> build;
};

const std::vector<Net> kNets = {{"one layer", [](Circuit& c) { layers(c, 1); }},
                                {"two layers", [](Circuit& c) { layers(c, 2); }},
                                {"two delays, trained start", test::small_relu_net},
                                {"two maps in a loop", two_maps_in_a_loop}};

Vector kappa_of(const Circuit& c, const Parameters<double>& p, const PathOptions& options) {
  Team team(1);
  PathPass<double> pass(c, team);
  Vector kappa(static_cast<std::size_t>(c.parameter_count()));
  EXPECT_EQ(pass.run(p, options, kappa).exponent, 0);
  return kappa;
}

double norm_of(const Circuit& c, const Parameters<double>& p, const PathOptions& options) {
  Team team(1);
  PathPass<double> pass(c, team);
  Vector kappa(static_cast<std::size_t>(c.parameter_count()));
  return pass.run(p, options, kappa).norm.value();
}

void expect_close(const Vector& found, const Vector& expected, double tolerance, const std::string& where) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance * std::max(1e-3, expected[i])) << where << ", parameter " << i;
}

TEST(PathPass, path_terms_equal_path_enumeration) {
  for (const Net& net : kNets) {
    Circuit c;
    net.build(c);
    const Parameters<double> p = test::some_parameters<double>(c);
    double largest_second = 0;
    for (Index length = 1; length <= 4; ++length)
      for (const bool every : {true, false}) {
        const std::string where = std::string(net.name) + ", length " + std::to_string(length);
        const ScalarGraph graph(c, Structure::chains(1, length), p.flat(), {}, ScalarGraph::Reading::paths);
        std::vector<Index> ends;
        for (Index r = every ? 0 : length - 1; r < length; ++r)
          for (Index k = 0; k < 2; ++k) ends.push_back(graph.node(c.outputs()[0], r, k));
        if (c.nodes()[static_cast<std::size_t>(c.outputs()[0])].size == 3)
          for (Index r = every ? 0 : length - 1; r < length; ++r) ends.push_back(graph.node(c.outputs()[0], r, 2));
        const ScalarGraph::PathSums walked = graph.sum_paths(ends);
        const PathOptions options{.length = length, .every_step = every};
        EXPECT_NEAR(norm_of(c, p, options), walked.total, 1e-12 * walked.total) << where;
        expect_close(kappa_of(c, p, options), walked.kappa, 1e-12, where);
        Vector both = walked.kappa;
        for (std::size_t i = 0; i < both.size(); ++i) {
          both[i] += walked.kappa2[i];
          largest_second = std::max(largest_second, walked.kappa2[i]);
        }
        PathOptions with_second = options;
        with_second.with_second = true;
        expect_close(kappa_of(c, p, with_second), both, 1e-12, where + " with the second term");
      }
    EXPECT_GT(largest_second, 0) << net.name;
  }
}

TEST(PathPass, path_terms_are_half_the_second_derivative_of_the_norm) {
  for (const Net& net : kNets) {
    Circuit c;
    net.build(c);
    const Parameters<double> p = test::some_parameters<double>(c);
    const PathOptions options{.length = 5, .with_second = true};
    const Vector kappa = kappa_of(c, p, options);
    const double here = norm_of(c, p, options);
    for (std::size_t i = 0; i < kappa.size(); ++i) {
      const double h = 2e-4;
      Parameters<double> moved = p;
      moved.flat()[i] += h;
      const double above = norm_of(c, moved, options);
      moved.flat()[i] -= 2 * h;
      const double below = norm_of(c, moved, options);
      EXPECT_NEAR(kappa[i], (above - 2 * here + below) / (2 * h * h), 1e-4 * std::max(1.0, kappa[i])) << net.name;
    }
  }
}

/// A gated term has a matrix for each symbol, and paths may use any of them at each step: equivalent to one dense
/// matrix per symbol, side by side.
TEST(PathPass, gated_terms_are_the_sum_of_their_matrices) {
  const std::vector<std::pair<std::int32_t, std::int32_t>> pairs = {{0, 0}, {0, 1}, {1, 2}, {2, 0}, {2, 2}};
  const auto edges = std::make_shared<const Edges>(3, 3, pairs);
  for (const bool leaky : {false, true}) {
    Circuit gated, dense;
    for (Circuit* c : {&gated, &dense}) {
      const Signal x = c->symbols("x", 2), h = c->link(3);
      std::vector<Term> terms = {{"W", x}};
      if (c == &gated) {
        const SparseForm form{.activation = Map::relu, .leaky = leaky, .gating = Gating::weights};
        terms.push_back({.parameter = "U", .source = h, .op = sparse_operator(edges, form), .gate = x});
      } else {
        terms.insert(terms.end(), {{"U0", h}, {"U1", h}});
      }
      Signal z = c->affine("z", 3, terms, Init::zero(), false);
      if (c == &dense && leaky) z = z + h;
      c->feed(h, z);
      c->output(c->affine("o", 2, {{"V", relu(z)}}));
    }
    Parameters<double> p = test::some_parameters<double>(gated);
    Parameters<double> same(dense);
    for (const char* name : {"z/W", "o/V", "o/bias"})
      std::copy_n(p.at(name).data, p.at(name).rows * p.at(name).cols, same.at(name).data);
    for (Index x = 0; x < 2; ++x)
      for (Index e = 0; e < edges->count(); ++e)
        same.at(x == 0 ? "z/U0" : "z/U1")(edges->from()[static_cast<std::size_t>(e)],
                                          edges->to()[static_cast<std::size_t>(e)]) = p.at("z/U")(x, e);
    const PathOptions options{.length = 5};
    EXPECT_NEAR(norm_of(gated, p, options), norm_of(dense, same, options), 1e-12 * norm_of(dense, same, options));
    const Vector found = kappa_of(gated, p, options), expected = kappa_of(dense, same, options);
    const auto at = [](Parameters<double>& q, const Vector& kappa, const char* name, Index row, Index col) {
      const Matrix<const double> m = q.at(name);
      return kappa[static_cast<std::size_t>(m.data - q.flat().data() + row * m.cols + col)];
    };
    for (Index x = 0; x < 2; ++x)
      for (Index e = 0; e < edges->count(); ++e) {
        const double whole = at(same, expected, x == 0 ? "z/U0" : "z/U1", edges->from()[static_cast<std::size_t>(e)],
                                edges->to()[static_cast<std::size_t>(e)]);
        EXPECT_NEAR(at(p, found, "z/U", x, e), whole, 1e-12 * whole) << leaky << x << e;
      }
    for (Index i = 0; i < 3; ++i) {
      EXPECT_NEAR(at(p, found, "z/W", 1, i), at(same, expected, "z/W", 1, i), 1e-12 * at(same, expected, "z/W", 1, i));
      EXPECT_NEAR(at(p, found, "o/V", i, 0), at(same, expected, "o/V", i, 0), 1e-12 * at(same, expected, "o/V", i, 0));
    }
    EXPECT_THROW(kappa_of(gated, p, {.length = 5, .with_second = true}), UsageError);
  }
}

TEST(PathPass, path_pass_reads_only_the_requested_output) {
  Circuit two, one;
  for (Circuit* c : {&two, &one}) {
    const Signal h = c->link(2);
    const Signal next = relu(c->affine("z", 2, {{"W", c->input("x", 2)}, {"U", h}}));
    c->feed(h, next);
    if (c == &two) c->output(next);
    c->output(c->affine("o", 2, {{"V", next}}));
  }
  const Parameters<double> p = test::some_parameters<double>(two);
  EXPECT_EQ(kappa_of(two, p, {.length = 3, .output = two.outputs()[1]}), kappa_of(one, p, {.length = 3}));
  EXPECT_NE(kappa_of(two, p, {.length = 3}), kappa_of(one, p, {.length = 3}));
}

TEST(PathPass, path_pass_is_correct_after_a_change_of_length) {
  Circuit c;
  test::small_relu_net(c);
  const Parameters<double> parameters = test::some_parameters<double>(c);
  Team team(1);
  PathPass<double> reused(c, team);
  Vector kappa(static_cast<std::size_t>(c.parameter_count()));
  reused.run(parameters, {.length = 9, .with_second = true}, kappa);
  reused.run(parameters, {.length = 3, .every_step = false}, kappa);
  EXPECT_EQ(kappa_of(c, parameters, {.length = 3, .every_step = false}), kappa);
}

TEST(PathPass, path_pass_has_the_same_bits_for_every_team) {
  Circuit c;
  layers(c, 2);
  const Parameters<float> p = test::some_parameters<float>(c);
  std::vector<Vector> found;
  for (const int threads : {1, 2, 3}) {
    Team team(threads);
    PathPass<float> pass(c, team);
    for (const Index length : {6, 400}) {
      found.emplace_back(p.flat().size());
      pass.run(p, {.length = length, .with_second = true}, found.back());
    }
  }
  for (std::size_t i = 2; i < found.size(); ++i) EXPECT_EQ(found[i], found[i % 2]);
}

/// h_t = w h_{t-1} + a, read with weight 1: everything has a closed form.
struct OneUnit {
  OneUnit() {
    const Signal h = circuit.link(1),
                 next = relu(circuit.affine("z", 1, {{"W", circuit.input("x", 1)}, {"U", h}}, Init::zero(), false));
    circuit.feed(h, next);
    circuit.output(next);
  }
  template <class T>
  PathSums run(double w, const PathOptions& options, Vector& kappa) {
    Parameters<T> p(circuit);
    p.at("z/W")(0, 0) = 1;
    p.at("z/U")(0, 0) = static_cast<T>(w);
    Team team(1);
    PathPass<T> pass(circuit, team);
    kappa.assign(2, 0.0);
    return pass.run(p, options, kappa);
  }
  Circuit circuit;  // kappa: [U, W]
};

/// log2 of sum_{k < n} c_k q^k.
double log2_of_series(Index n, double q, const std::function<double(double)>& c) {
  double log_largest = -1e300, sum = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (Index k = 0; k < n; ++k) {
      const double coefficient = c(static_cast<double>(k));
      if (coefficient <= 0) continue;
      const double term = std::log2(coefficient) + static_cast<double>(k) * std::log2(q);
      if (pass == 0) log_largest = std::max(log_largest, term);
      if (pass == 1) sum += std::exp2(term - log_largest);
    }
  return log_largest + std::log2(sum);
}

template <class T>
void expect_closed_forms(double w, Index length, double tolerance) {
  OneUnit net;
  Vector kappa;
  const double q = w * w;
  const PathOptions last{.length = length, .every_step = false};
  PathSums sums = net.run<T>(w, last, kappa);
  const auto log2_kappa = [&](std::size_t i) { return std::log2(kappa[i]) + static_cast<double>(sums.exponent); };
  const double norm = log2_of_series(length, q, [](double) { return 1; });
  const double first = log2_of_series(length, q, [](double k) { return k; }) - std::log2(q);
  EXPECT_NEAR(std::log2(sums.norm.mantissa) + sums.norm.exponent, norm, tolerance);
  EXPECT_NEAR(log2_kappa(1), norm, tolerance);
  EXPECT_NEAR(log2_kappa(0), first, tolerance);
  PathOptions with_second = last;
  with_second.with_second = true;
  sums = net.run<T>(w, with_second, kappa);
  // kappa1 + 2 q g'' = sum of k (2k - 1) q^(k-1)
  EXPECT_NEAR(log2_kappa(0), log2_of_series(length, q, [](double k) { return k * (2 * k - 1); }) - std::log2(q),
              tolerance);
  PathOptions every = last;
  every.every_step = true;
  sums = net.run<T>(w, every, kappa);
  const double total = log2_of_series(length, q, [&](double k) { return static_cast<double>(length) - k; });
  EXPECT_NEAR(std::log2(sums.norm.mantissa) + sums.norm.exponent, total, tolerance);
  EXPECT_NEAR(log2_kappa(1), total, tolerance);
}

TEST(PathPass, long_growing_chains_neither_overflow_nor_lose_their_metric) {
  expect_closed_forms<float>(2, 1500, 1e-4);
  expect_closed_forms<double>(2, 1500, 1e-9);
  expect_closed_forms<float>(1000, 400, 1e-4);
}

TEST(PathPass, long_decaying_or_constant_chains_keep_their_metric) {
  expect_closed_forms<float>(0.5, 1200, 1e-4);
  expect_closed_forms<float>(1, 1200, 1e-4);
}

TEST(PathPass, chain_in_pieces_equals_the_whole_chain) {
  Team team(1);
  for (const Net& net : kNets) {
    Circuit c, reading;
    net.build(c);
    const std::vector<Signal> of = path_reading(c, reading);
    Parameters<double> squares = test::some_parameters<double>(reading);
    for (double& p : squares.flat()) p = 3 * p * p;
    const int read = of[static_cast<std::size_t>(c.outputs()[0])].id;
    PathUnfolding<double> chain(reading, team);
    Vector whole(squares.flat().size()), pieces = whole;
    for (const bool every : {true, false}) {
      PathGraph graph{.structure = Structure::chains(1, 110), .ends = {{read, {}}}};
      for (Index row = every ? 0 : 109; row < 110; ++row) graph.ends[0].rows.push_back(row);
      const auto sums = chain.attempt(squares, 110, graph, whole);
      ASSERT_TRUE(sums) << net.name;
      EXPECT_EQ(sums->exponent, 0);
      for (const Index piece : {1, 7, 32, 109}) {
        const auto cut = chain.attempt(squares, piece, graph, pieces);
        ASSERT_TRUE(cut) << net.name;
        EXPECT_GT(cut->exponent, 0) << net.name;
        EXPECT_NEAR(cut->norm.value() / sums->norm.value(), 1, 1e-12) << net.name;
        for (std::size_t i = 0; i < whole.size(); ++i)
          EXPECT_NEAR(std::ldexp(pieces[i], cut->exponent) / whole[i], 1, 1e-12) << net.name << i;
      }
    }
  }
}

TEST(PathPass, float_path_pass_switches_to_the_range_of_double) {
  Team team(1);
  for (const Net& net : kNets) {
    Circuit c;
    net.build(c);
    Parameters<double> p = test::some_parameters<double>(c);
    Parameters<float> single(c);
    for (std::size_t i = 0; i < p.flat().size(); ++i) {
      single.flat()[i] = static_cast<float>(3 * p.flat()[i]);
      p.flat()[i] = static_cast<double>(single.flat()[i]);
    }
    const PathOptions options{.length = 110, .with_second = true};
    Vector kappa(p.flat().size());
    PathPass<float> pass(c, team);
    pass.run(single, options, kappa);
    EXPECT_GT(*std::max_element(kappa.begin(), kappa.end()), 1e40);
    EXPECT_EQ(kappa, kappa_of(c, p, options));
  }
}

/// A recursive network over two ordered children and the sum of all children, with a loop from the root downward.
void over_trees(Circuit& c) {
  const Signal x = c.symbols("x", 2), left = c.link(2, Delay::child(0)), right = c.link(2, Delay::child(1)),
               all = c.link(2, Delay::children()), above = c.link(1, Delay::parent());
  const Signal h = relu(c.affine("z", 2, {{"W", x}, {"U", left}, {"V", right}})) + 0.5 * all;
  c.feed(left, h);
  c.feed(right, h);
  c.feed(all, h);
  const Signal down = relu(c.affine("down", 1, {{"W", h}, {"U", above}}));
  c.feed(above, down);
  c.output(c.affine("o", 2, {{"V", h}, {"D", down}}));
}

/// A recurrent network from two corners of a grid.
void over_grids(Circuit& c) {
  const Signal x = c.input("x", 1);
  std::vector<Signal> corners;
  for (const bool mirrored : {false, true}) {
    const auto scope = c.scope(mirrored ? "right" : "left");
    const auto mirror = c.mirrored(mirrored, false);
    const Signal left = c.link(2, Delay::left()), up = c.link(2, Delay::up());
    const Signal h = relu(c.affine("z", 2, {{"W", x}, {"U", left}, {"V", up}}));
    c.feed(left, h);
    c.feed(up, h);
    corners.push_back(h);
  }
  c.output(c.affine("o", 1, {{"V", c.join(corners)}}));
}

/// Blocks of a fine grid are the positions of a coarse one.
void over_blocks(Circuit& c) {
  Signal fine, blocks;
  {
    const auto part = c.in_part(1);
    const Signal left = c.link(1, Delay::left());
    fine = relu(c.affine("fine", 1, {{"W", c.input("x", 1)}, {"U", left}}));
    c.feed(left, fine);
  }
  blocks = c.link(4, Delay::block(2));
  c.feed(blocks, fine);
  const Signal up = c.link(2, Delay::up()), h = relu(c.affine("z", 2, {{"W", blocks}, {"U", up}}));
  c.feed(up, h);
  c.output(c.affine("o", 1, {{"V", h}}));
}

/// An encoder whose last state is an input of the decoder at each step and determines its initial state.
void encoder_and_decoder(Circuit& c) {
  Signal encoded, summary;
  {
    const auto part = c.in_part(2);
    const Signal h = c.link(2);
    encoded = relu(c.affine("encoder", 2, {{"W", c.symbols("source", 2)}, {"U", h}}));
    c.feed(h, encoded);
  }
  {
    const auto part = c.in_part(1);
    const Signal end = c.link(2, Delay::source_last());
    c.feed(end, encoded);
    summary = relu(c.affine("summary", 2, {{"R", end}}));
  }
  const auto start = c.with_initial_state(summary);
  const Signal read = c.link(2, Delay::source_last()), h = c.link(2);
  c.feed(read, summary);
  const Signal next = relu(c.affine("decoder", 2, {{"W", c.symbols("target", 2)}, {"S", read}, {"U", h}}));
  c.feed(h, next);
  c.output(c.affine("o", 2, {{"V", next}}));
}

/// Two directions over chains of different lengths, with an output of each.
void two_outputs(Circuit& c) {
  const Signal x = c.symbols("x", 2), before = c.link(2, Delay::previous(), true), after = c.link(2, Delay::next());
  const Signal f = relu(c.affine("f", 2, {{"W", x}, {"U", before}})),
               b = relu(c.affine("b", 2, {{"W", x}, {"U", after}}));
  c.feed(before, f);
  c.feed(after, b);
  c.output(c.affine("o", 2, {{"V", f}}));
  c.output(c.affine("p", 1, {{"V", c.join({f, b})}}));
}

struct Unfolded {
  const char* name;
  std::function<void(Circuit&)> build;
  Structure structure;
};

std::vector<Unfolded> unfolded_nets() {
  const std::vector<Tree> trees = {{{{}, {}, {0, 1}, {2, 4}, {}}}, {{{}, {-1, 0}}}, {{{}}}};
  const std::vector<std::pair<Index, Index>> shapes = {{2, 3}, {1, 2}}, fine = {{3, 4}, {2, 2}};
  const std::vector<Index> sides = {1, 2};
  const Structure source = Structure::chains(2, 1).with_source(Structure::chains({1, 3}));
  return {{"trees", over_trees, Structure::trees(trees)},
          {"grids", over_grids, Structure::grids(shapes)},
          {"blocks", over_blocks, Structure::grids(fine, sides)},
          {"encoder and decoder", encoder_and_decoder, Structure::chains({3, 2}).with_source(source)},
          {"two outputs", two_outputs, Structure::chains({2, 4, 1})}};
}

/// Ends at every row of each output, or at every other row.
PathGraph graph_over(const Circuit& c, const Structure& structure, Index stride) {
  PathGraph graph{.structure = structure, .ends = {}};
  for (const int output : c.outputs()) {
    graph.ends.push_back({output, {}});
    for (Index row = 0; row < structure.positions(); row += stride) graph.ends.back().rows.push_back(row);
  }
  return graph;
}

TEST(PathPass, path_norm_over_any_structure_equals_path_enumeration) {
  for (const Unfolded& net : unfolded_nets())
    for (const Index stride : {1, 2}) {
      Circuit c;
      net.build(c);
      const Parameters<double> p = test::some_parameters<double>(c);
      const ScalarGraph scalars(c, net.structure, p.flat(), {}, ScalarGraph::Reading::paths);
      const PathGraph graph = graph_over(c, net.structure, stride);
      std::vector<Index> ends;
      for (const PathEnds& end : graph.ends)
        for (const Index row : end.rows)
          for (Index k = 0; k < c.nodes()[at(end.output)].size; ++k) ends.push_back(scalars.node(end.output, row, k));
      const ScalarGraph::PathSums walked = scalars.sum_paths(ends);
      EXPECT_GT(scalars.count_paths(ends), 20) << net.name;
      EXPECT_NEAR(norm_of(c, p, {.graph = &graph}), walked.total, 1e-12 * walked.total) << net.name;
      expect_close(kappa_of(c, p, {.graph = &graph}), walked.kappa, 1e-12, net.name);
    }
}

TEST(PathPass, path_metric_over_any_structure_is_the_derivative_by_squared_parameters) {
  for (const Unfolded& net : unfolded_nets()) {
    Circuit c;
    net.build(c);
    const Parameters<double> p = test::some_parameters<double>(c);
    const PathGraph graph = graph_over(c, net.structure, 1);
    const Vector kappa = kappa_of(c, p, {.graph = &graph});
    for (std::size_t i = 0; i < kappa.size(); ++i) {
      const double square = p.flat()[i] * p.flat()[i], h = 1e-4 * square;
      Parameters<double> above = p, below = p;
      above.flat()[i] = std::sqrt(square + h);
      below.flat()[i] = std::sqrt(square - h);
      const double slope = (norm_of(c, above, {.graph = &graph}) - norm_of(c, below, {.graph = &graph})) / (2 * h);
      EXPECT_NEAR(kappa[i], slope, 1e-5 * std::max(1.0, kappa[i])) << net.name << ", parameter " << i;
    }
  }
}

TEST(PathPass, float_norm_over_trees_switches_to_double_and_overflow_is_rejected) {
  Circuit c;
  over_trees(c);
  Tree tree;
  for (Index v = 0; v < 60; ++v) tree.children.push_back(v == 0 ? std::vector<Index>{} : std::vector<Index>{v - 1, -1});
  const PathGraph graph = graph_over(c, Structure::trees(std::vector<Tree>{tree}), 1);
  Team team(1);
  Vector kappa(at(c.parameter_count())), wide = kappa;
  Parameters<float> p(c);
  Parameters<double> same(c);
  const auto norm_with = [&](float value) {
    std::fill(p.flat().begin(), p.flat().end(), value);
    std::fill(same.flat().begin(), same.flat().end(), static_cast<double>(value));
    return PathPass<float>(c, team).run(p, {.graph = &graph}, kappa).norm.value();
  };
  EXPECT_GT(norm_with(3), 1e40);
  PathPass<double>(c, team).run(same, {.graph = &graph}, wide);
  EXPECT_EQ(kappa, wide);
  EXPECT_THROW(norm_with(1e6F), DivergedError);
}

TEST(PathPass, second_term_is_limited_to_one_chain) {
  for (const Unfolded& net : unfolded_nets()) {
    Circuit c;
    net.build(c);
    const PathGraph graph = graph_over(c, net.structure, 1);
    EXPECT_THROW(kappa_of(c, test::some_parameters<double>(c), {.with_second = true, .graph = &graph}), UsageError);
  }
}

/// A term with the sums of two rows, compared with two equal inputs of one row each: all passes.
TEST(RowSums, sums_of_rows_equal_products_with_equal_inputs) {
  std::vector<Vector> found;
  for (const bool sums : {true, false}) {
    Circuit c;
    const Signal input = c.input("x", 2), x = relu(c.affine("a", 1, {{"A", input}}));
    const Signal z = sums ? c.affine("z", 3, {{.parameter = "W", .source = x, .op = row_sums(2, 3)}})
                          : c.affine("z", 3, {{"W", c.join({x, x})}});
    c.output(z);
    Parameters<double> p(c);
    Vector direction(p.flat().size()), gradient(p.flat().size());
    Random random(2, "numbers");
    for (double& w : p.flat()) w = random.uniform(0.1, 1);
    for (double& d : direction) d = random.normal();
    Team team(2);
    Unfolding<double> u(std::make_shared<const Plan>(c), team);
    u.lay(Structure::chains({3, 2}));
    u.set_parameters(p);
    const Matrix<double> rows = u.input(input);
    for (Index i = 0; i < rows.rows * rows.cols; ++i) rows.data[i] = random.uniform(0.1, 1);
    u.forward();
    u.tangent(direction);
    const Matrix<double> seeds = u.adjoint(z);
    for (Index r = 0; r < seeds.rows; ++r)
      for (Index k = 0; k < seeds.cols; ++k) seeds(r, k) = random.normal();
    u.backward(gradient);
    for (const Matrix<const double> m : {u.value(z), u.tangent_of(z)})
      for (Index r = 0; r < m.rows; ++r) gradient.insert(gradient.end(), m.row(r), m.row(r) + m.cols);
    found.push_back(gradient);
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) EXPECT_NEAR(found[0][i], found[1][i], 1e-13) << i;
}

TEST(PathPass, values_too_large_for_any_piece_are_rejected) {
  OneUnit net;
  Vector kappa;
  EXPECT_THROW(net.run<double>(1e200, {.length = 3}, kappa), DivergedError);
}

TEST(PathPass, map_without_a_path_reading_is_named) {
  Circuit c;
  c.output(tanh(c.affine("a", 2, {{"W", c.input("x", 2)}})));
  Team team(1);
  try {
    PathPass<double> pass(c, team);
    ADD_FAILURE() << "tanh was accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("tanh"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace unfold
