/// Every map, link kind and structure kind as a small circuit: all checks of gradcheck/derivative_check.h, which also
/// compare with the scalar graph.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/circuits.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/circuit/sparse_operator.h"

namespace unfold {
namespace {

using Kind = Structure::Kind;

void expect_derivatives(const Circuit& c, const Structure& structure) {
  CheckOptions options;
  options.dense_parameters = 60;
  const CheckReport report = check_derivatives(c, *gaussian_loss<double>(), structure, options);
  EXPECT_TRUE(report.passed()) << report.text() << Plan(c).print();
}

Structure ragged() {
  const Index lengths[] = {3, 6, 1, 4};
  return Structure::chains(lengths);
}

Structure some_grids() {
  const std::pair<Index, Index> shapes[] = {{3, 4}, {1, 2}, {2, 2}};
  return Structure::grids(shapes);
}

Structure some_trees() { return test::random_structure(Kind::trees, 11); }

/// Applies the map to a number within its domain.
Signal apply(Circuit& c, Map map, Signal a, Signal b) {
  if (map == Map::log) return log(exp(tanh(a)) + 0.5);
  if (map == Map::exp) return exp(tanh(a));
  return map_info(map).arity == 2 ? c.map(map, a, b) : c.map(map, a, 0.7);
}

TEST(EveryMap, every_map_has_correct_derivatives_outside_a_loop) {
  for (int m = 0; m < kMapCount; ++m) {
    SCOPED_TRACE(map_info(static_cast<Map>(m)).name);
    Circuit c;
    const Signal x = c.input("x", 2);
    const Signal a = c.affine("a", 3, {{"W", x}}), b = c.affine("b", 3, {{"W", x}});
    const Signal y = apply(c, static_cast<Map>(m), a, b);
    c.output(y);
    expect_derivatives(c, ragged());
  }
}

TEST(EveryMap, every_map_has_correct_derivatives_inside_a_loop) {
  for (int m = 0; m < kMapCount; ++m) {
    SCOPED_TRACE(map_info(static_cast<Map>(m)).name);
    Circuit c;
    const Signal x = c.input("x", 2), h = c.link(3, Delay::previous(), true);
    const Signal a = c.affine("a", 3, {{"W", x}, {"U", h}});
    const Signal y = tanh(apply(c, static_cast<Map>(m), a, h));
    c.feed(h, y);
    c.output(c.affine("o", 2, {{"V", y}}));
    expect_derivatives(c, ragged());
  }
}

TEST(EveryMap, every_map_has_correct_derivatives_with_repeated_arguments) {
  for (const Map map : {Map::add, Map::sub, Map::mul}) {
    Circuit c;
    const Signal a = c.affine("a", 2, {{"W", c.input("x", 2)}}), t = tanh(a);
    c.output(c.map(map, t, t));
    c.output(c.map(map, a, t));
    expect_derivatives(c, ragged());
  }
}

/// h = tanh(W x + sum_k U_k h at delay k)
void recurrence(Circuit& c, const std::vector<Delay>& delays, bool trained_initial, const std::string& scope = "net") {
  const auto inside = c.scope(scope);
  std::vector<Term> terms = {{"W", c.input("x", 2)}};
  std::vector<std::string> names;
  std::vector<Signal> links;
  for (std::size_t k = 0; k < delays.size(); ++k) names.push_back("U" + std::to_string(k));
  for (std::size_t k = 0; k < delays.size(); ++k) {
    links.push_back(c.link(2, delays[k], trained_initial && k == 0));
    terms.push_back({names[k], links.back()});
  }
  const Signal h = tanh(c.affine("a", 2, terms));
  for (const Signal& link : links) c.feed(link, h);
  c.output(c.affine("o", 2, {{"V", h}}));
}

struct LinkCase {
  std::string name;
  Kind kind;
  std::vector<Delay> delays;
};

const std::vector<LinkCase> kLinkCases = {
    {"previous", Kind::chains, {Delay::previous()}},
    {"two back", Kind::chains, {Delay::previous(2)}},
    {"one and three back", Kind::chains, {Delay::previous(), Delay::previous(3)}},
    {"next", Kind::chains, {Delay::next()}},
    {"one and two on", Kind::chains, {Delay::next(), Delay::next(2)}},
    {"left and up", Kind::grids, {Delay::left(), Delay::up()}},
    {"right and up", Kind::grids, {Delay::right(), Delay::up()}},
    {"left and down", Kind::grids, {Delay::left(), Delay::down()}},
    {"right and down", Kind::grids, {Delay::right(), Delay::down(2)}},
    {"left only", Kind::grids, {Delay::left(2)}},
    {"three children", Kind::trees, {Delay::child(0), Delay::child(1), Delay::child(2)}},
    {"sum over children", Kind::trees, {Delay::children()}},
    {"sum over children and a child", Kind::trees, {Delay::children(), Delay::child(1)}},
    {"parent", Kind::trees, {Delay::parent()}},
};

Structure structure_of(Kind kind) {
  return kind == Kind::chains ? ragged() : kind == Kind::grids ? some_grids() : some_trees();
}

TEST(EveryLink, every_link_has_correct_derivatives_inside_a_loop) {
  for (const LinkCase& link : kLinkCases)
    for (const bool trained : {false, true}) {
      SCOPED_TRACE(link.name + (trained ? ", trained start" : ""));
      Circuit c;
      recurrence(c, link.delays, trained);
      expect_derivatives(c, structure_of(link.kind));
    }
}

TEST(EveryLink, every_link_has_correct_derivatives_outside_a_loop) {
  for (const LinkCase& link : kLinkCases) {
    SCOPED_TRACE(link.name);
    Circuit c;
    const Signal a = tanh(c.affine("a", 2, {{"W", c.input("x", 2)}}));
    Signal sum = a;
    for (const Delay& delay : link.delays) {
      const Signal other = c.link(2, delay, true);
      c.feed(other, a);
      sum = sum + other * a;
    }
    c.output(c.affine("o", 2, {{"V", sum}}));
    expect_derivatives(c, structure_of(link.kind));
  }
}

TEST(Links, links_to_each_child_have_correct_derivatives) {
  Circuit c;
  const Signal x = c.input("x", 2), h = c.link(6, Delay::each_child(3)), look = c.link(4, Delay::each_child(2));
  const Signal a = tanh(c.affine("a", 2, {{"W", x}, {"U", h}}));
  c.feed(h, a), c.feed(look, a);
  c.output(c.affine("o", 2, {{"V", look * tanh(look)}}));
  expect_derivatives(c, some_trees());
}

/// The sigmoid of 0 is one half, so leaves must not skip terms that are not zero there.
TEST(Links, links_to_children_feed_nonzero_terms_to_leaves) {
  const auto half_of = [](const char* name, Signal source) {
    const std::vector<std::pair<std::int32_t, std::int32_t>> all = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    Term term{name, source, Init::uniform(0.5)};
    term.op = sparse_operator(std::make_shared<const Edges>(2, 2, all), {.activation = Map::sigmoid});
    return term;
  };
  Circuit c;
  const Signal x = c.input("x", 2), h = c.link(2, Delay::children());
  const Signal a = tanh(c.affine("a", 2, {{"W", x}, half_of("U", h)}));
  c.feed(h, a);
  c.output(c.affine("o", 2, {{"V", a}, half_of("T", h)}));
  expect_derivatives(c, some_trees());
}

TEST(Links, tree_links_go_up_and_down_in_one_circuit) {
  Circuit c;
  const Signal x = c.input("x", 2), h = c.link(2, Delay::children(), true), g = c.link(2, Delay::parent(), true);
  const Signal up = tanh(c.affine("up", 2, {{"W", x}, {"U", h}}));
  c.feed(h, up);
  const Signal down = tanh(c.affine("down", 2, {{"W", up}, {"U", g}}));
  c.feed(g, down);
  c.output(c.affine("o", 2, {{"V", down}}));
  expect_derivatives(c, some_trees());
}

TEST(Links, tree_links_in_both_directions_in_one_loop_are_rejected) {
  Circuit c;
  const Signal h = c.link(2, Delay::children()), g = c.link(2, Delay::parent());
  const Signal a = tanh(c.affine("a", 2, {{"U", h}, {"G", g}}));
  c.feed(h, a), c.feed(g, a);
  c.output(a);
  EXPECT_THROW(Plan{c}, UsageError);
  EXPECT_THROW(c.link(3, Delay::each_child(2)), UsageError);
  EXPECT_THROW(c.link(4, Delay::each_child(2), true), UsageError);
  EXPECT_THROW(opposite(Delay::children()), UsageError);
}

TEST(EveryLink, every_link_may_read_an_input) {
  Circuit c;
  const Signal x = c.input("x", 2), before = c.link(2, Delay::previous(2), true), after = c.link(2, Delay::next());
  c.feed(before, x), c.feed(after, x);
  c.output(c.affine("o", 2, {{"A", before}, {"B", after}, {"C", x}}));
  expect_derivatives(c, ragged());
}

TEST(Networks, bidirectional_networks_have_correct_derivatives) {
  Circuit c;
  recurrence(c, {Delay::previous()}, true, "forward");
  recurrence(c, {Delay::next()}, false, "backward");
  expect_derivatives(c, ragged());
}

TEST(Networks, four_corner_networks_have_correct_derivatives) {
  Circuit c;
  recurrence(c, {Delay::left(), Delay::up()}, false, "a");
  recurrence(c, {Delay::right(), Delay::up()}, false, "b");
  recurrence(c, {Delay::left(), Delay::down()}, false, "c");
  recurrence(c, {Delay::right(), Delay::down()}, true, "d");
  expect_derivatives(c, some_grids());
}

TEST(Networks, stacked_opposite_directions_have_correct_derivatives) {
  Circuit c;
  const Signal x = c.symbols("x", 3), h = c.link(2), g = c.link(2, Delay::next(), true);
  const Signal a = tanh(c.affine("a", 2, {{"W", x}, {"U", h}}));
  c.feed(h, a);
  const Signal b = sigmoid(c.affine("b", 2, {{"W", a}, {"X", x}, {"U", g}}));
  c.feed(g, b);
  c.output(c.affine("o", 3, {{"V", b}, {"A", a}}));
  c.output(a);
  expect_derivatives(c, ragged());
}

TEST(Networks, nested_slices_have_correct_derivatives) {
  Circuit c;
  const Signal x = c.input("x", 3), h = c.link(2);
  const Signal z = c.affine("z", 6, {{"W", x}, {"U", h}});
  const Signal middle = c.slice(z, 1, 4), inner = c.slice(middle, 1, 2);
  const Signal y = tanh(inner) * sigmoid(c.slice(z, 4, 2)) + tanh(c.slice(z, 0, 2));
  c.feed(h, y);
  c.output(c.affine("o", 2, {{"V", c.slice(y, 1, 1)}}));
  expect_derivatives(c, ragged());
}

/// With fixed masks, the circuit is a deterministic function, so its backward pass is compared with finite
/// differences.
TEST(Dropout, dropout_keeps_its_mask_through_all_passes) {
  Circuit c;
  const Signal x = c.input("x", 3), h = c.link(4);
  const Signal a = tanh(c.affine("a", 4, {{"W", c.dropout(x, 0.3)}, {"U", h}}));
  c.feed(h, a);
  c.output(c.affine("o", 2, {{"V", c.dropout(a, 0.5)}}));
  test::Runner<double> runner(c);
  runner.unfolding().set_dropout_seed(9);
  const Structure structure = ragged();
  const auto results = runner.run(structure);
  const auto direction = test::some_direction<double>(c);
  Parameters<double> moved = runner.parameters();
  const auto outputs_at = [&](double step) {
    for (std::size_t i = 0; i < direction.size(); ++i)
      moved.flat()[i] = runner.parameters().flat()[i] + step * direction[i];
    runner.unfolding().set_parameters(moved);
    runner.unfolding().forward();
    return runner.outputs();
  };
  const auto above = outputs_at(1e-5), below = outputs_at(-1e-5);
  for (std::size_t i = 0; i < above.size(); ++i) EXPECT_NEAR(results.tangents[i], (above[i] - below[i]) / 2e-5, 1e-7);
  runner.unfolding().set_parameters(runner.parameters());
  runner.unfolding().set_dropout_seed(10);
  EXPECT_NE(runner.run(structure).outputs, results.outputs);
  runner.unfolding().set_dropout_seed(9);
  EXPECT_EQ(runner.run(structure).outputs, results.outputs);
  runner.unfolding().disable_dropout();
  EXPECT_EQ(runner.run(structure).outputs, test::Runner<double>(c).run(structure).outputs);
}

/// Variational dropout: each sequence has one mask for all its positions, which is the same alone and in a batch.
TEST(Dropout, sequence_dropout_has_one_mask_per_sequence) {
  constexpr Index kUnits = 40;
  Circuit c;
  const Signal ones = c.input("x", kUnits);
  c.output(c.map(Map::copy, c.dropout(ones, 0.5, Lasts::sequence)));
  test::Runner<float> runner(c);
  const auto masks = [&](const Structure& structure, const std::vector<Index>& slots, Index first_position) {
    runner.unfolding().lay(structure, slots);
    Matrix<float> x = runner.unfolding().input(ones);
    std::fill_n(x.data, x.rows * x.cols, 1.0f);
    runner.unfolding().set_dropout_seed(5, first_position);
    runner.unfolding().forward();
    return runner.outputs();
  };
  const auto all = masks(ragged(), {0, 1, 2, 3}, 0);
  const Index lengths[] = {3, 6, 1, 4};
  std::vector<float> first;
  for (Index s = 0, item = 0; s < 4; ++s)
    for (Index t = 0; t < lengths[s]; ++t, ++item) {
      const std::vector<float> row(all.begin() + item * kUnits, all.begin() + (item + 1) * kUnits);
      if (t == 0) {
        EXPECT_NE(row, first);
        first = row;
      }
      EXPECT_EQ(row, first);
    }
  const auto alone = masks(Structure::chains(1, 4), {3}, 2);
  EXPECT_EQ(alone, std::vector<float>(all.end() - 4 * kUnits, all.end()));
}

TEST(Dropout, dropout_zeroes_the_given_rate_and_scales_the_rest) {
  Circuit c;
  const Signal ones = c.input("x", 50);
  c.output(c.map(Map::copy, c.dropout(ones, 0.25)));
  test::Runner<float> runner(c);
  runner.lay(Structure::chains(4, 50));
  Matrix<float> x = runner.unfolding().input(ones);
  std::fill_n(x.data, x.rows * x.cols, 1.0f);
  runner.unfolding().set_dropout_seed(1);
  runner.unfolding().forward();
  Index zeros = 0;
  for (const float y : runner.outputs()) {
    EXPECT_TRUE(y == 0 || y == 1 / 0.75f) << y;
    zeros += y == 0;
  }
  EXPECT_NEAR(static_cast<double>(zeros), 2500, 5 * std::sqrt(10000 * 0.25 * 0.75));
}

}  // namespace
}  // namespace unfold
