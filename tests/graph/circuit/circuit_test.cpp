#include "unfold/graph/circuit/circuit.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/graph/circuit/parameters.h"

namespace unfold {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Circuit, parameter_layout_depends_only_on_names) {
  Circuit c;
  auto x = c.input("x", 3);
  c.output(c.affine("zeta", 2, {{"W", x}}));
  c.output(c.affine("alpha", 4, {{"W", x}}));
  const auto& p = c.parameters();
  ASSERT_EQ(p.size(), 4u);
  EXPECT_EQ(p[2].name, "alpha/W");
  EXPECT_EQ(p[2].offset, 0);
  EXPECT_EQ(p[3].name, "alpha/bias");
  EXPECT_EQ(p[3].offset, 12);
  EXPECT_EQ(p[0].name, "zeta/W");
  EXPECT_EQ(p[0].offset, 16);
  EXPECT_EQ(c.parameter_count(), 24);
}

TEST(Node, only_its_own_operation_can_be_read) {
  Circuit c;
  const Signal x = c.input("x", 3), h = c.link(2);
  const Signal z = c.affine("z", 2, {{"W", x}, {"U", h}});
  c.feed(h, tanh(z));
  const Node &input = c.nodes()[static_cast<std::size_t>(x.id)], &affine = c.nodes()[static_cast<std::size_t>(z.id)];
  EXPECT_EQ(affine.kind(), Node::Kind::affine);
  EXPECT_EQ(affine.affine().terms.size(), 2u);
  EXPECT_EQ(affine.terms().size(), 2u);
  EXPECT_TRUE(input.terms().empty());
  EXPECT_EQ(affine.trained_initial(), -1);
  const std::string expected = "circuit: x was read as a node with another operation";
  EXPECT_EQ(message_of([&] { input.link(); }), expected);
  EXPECT_EQ(message_of([&] { input.affine(); }), expected);
  EXPECT_EQ(message_of([&] { input.pointwise(); }), expected);
  EXPECT_EQ(message_of([&] { input.slice(); }), expected);
  EXPECT_EQ(message_of([&] { input.mask(); }), expected);
  EXPECT_EQ(message_of([&] { input.reorder(); }), expected);
}

TEST(Node, reads_lists_every_node_that_the_operation_reads) {
  using Reads = std::vector<int>;
  const auto node = [](Node::Operation operation) { return Node{.name = "n", .operation = std::move(operation)}; };
  EXPECT_EQ(node(Node::Input{}).reads(), Reads{});
  EXPECT_EQ(node(Node::Symbols{}).reads(), Reads{});
  EXPECT_EQ(node(Node::Mask{}).reads(), Reads{});
  EXPECT_EQ(node(Node::Link{}).reads(), Reads{});
  EXPECT_EQ(node(Node::Link{.source = 4}).reads(), Reads{4});
  EXPECT_EQ(node(Node::Slice{.operand = 4}).reads(), Reads{4});
  EXPECT_EQ(node(Node::Reorder{.operand = 4}).reads(), Reads{4});
  EXPECT_EQ(node(Node::Pointwise{.operands = {4, -1}}).reads(), Reads{4});
  EXPECT_EQ(node(Node::Pointwise{.operands = {4, 5}}).reads(), (Reads{4, 5}));
  Node affine = node(Node::Affine{
      .terms = {{.parameter = 9, .source = 1, .gate = 2}, {.parameter = 9, .source = 3, .keys = 4, .values = 5}},
      .bias = 9,
      .awake = 6});
  EXPECT_EQ(affine.reads(), (Reads{1, 2, 3, 4, 5, 6}));
  affine.replace_read(4, 7);
  affine.replace_read(6, 1);
  EXPECT_EQ(affine.reads(), (Reads{1, 2, 3, 7, 5, 1}));
}

TEST(Circuit, is_read_finds_every_reader) {
  Circuit c;
  const Signal x = c.input("x", 3), h = c.link(3), y = tanh(x);
  EXPECT_FALSE(c.is_read(y));
  c.feed(h, y);
  EXPECT_TRUE(c.is_read(y));
  EXPECT_FALSE(c.is_read(h));
}

TEST(Circuit, scopes_prefix_names) {
  Circuit c;
  auto x = c.input("x", 3);
  {
    auto outer = c.scope("net");
    auto inner = c.scope("layer1");
    c.output(c.affine("z", 2, {{"W", x}}));
  }
  EXPECT_EQ(c.parameters()[0].name, "net/layer1/z/W");
}

TEST(Circuit, shape_error_names_node_and_sizes) {
  Circuit c;
  auto x = c.input("x", 3), y = c.input("y", 4);
  const std::string text = message_of([&] { (void)(x + y); });
  EXPECT_NE(text.find("x has size 3"), std::string::npos) << text;
  EXPECT_NE(text.find("y has 4"), std::string::npos) << text;
}

TEST(Circuit, invalid_operations_are_refused) {
  Circuit c, other;
  auto x = c.input("x", 3);
  auto s = c.symbols("s", 5);
  auto foreign = other.input("x", 3);
  auto link = c.link(3);
  EXPECT_NE(message_of([&] { c.map(Map::tanh, s); }), "no error");
  EXPECT_NE(message_of([&] { (void)(x + foreign); }), "no error");
  EXPECT_NE(message_of([&] { c.slice(x, 2, 2); }), "no error");
  EXPECT_NE(message_of([&] { c.split<2>(x); }), "no error");
  EXPECT_NE(message_of([&] { c.link(2, Delay::previous(0)); }), "no error");
  EXPECT_NE(message_of([&] { c.affine("z", 2, {}); }), "no error");
  EXPECT_NE(message_of([&] { c.validate(); }), "no error");
  auto z = c.affine("z", 3, {{"W", x}, {"U", link}});
  EXPECT_NE(message_of([&] { c.affine("z", 3, {{"W", x}}); }), "no error");
  c.output(z);
  EXPECT_NE(message_of([&] { c.validate(); }).find("never fed"), std::string::npos);
  c.feed(link, z);
  EXPECT_NE(message_of([&] { c.feed(link, z); }), "no error");
  EXPECT_EQ(message_of([&] { c.validate(); }), "no error");
}

TEST(Circuit, path_reading_squares_slopes_and_reads_relu_as_identity) {
  Circuit c, squared;
  auto x = c.symbols("x", 5);
  auto h = c.link(4);
  auto next = relu(c.affine("z", 4, {{"W", x}, {"U", h}})) - 3.0 * h;
  c.feed(h, next);
  c.output(c.affine("o", 2, {{"V", next}}));
  path_reading(c, squared);
  EXPECT_EQ(squared.parameter_count(), c.parameter_count());
  for (std::size_t i = 0; i < c.parameters().size(); ++i)
    EXPECT_EQ(squared.parameters()[i].name, c.parameters()[i].name);
  double scaled = 0;
  for (const Node& node : squared.nodes()) {
    if (node.kind() != Node::Kind::pointwise) continue;
    EXPECT_NE(node.pointwise().map, Map::relu);
    if (node.pointwise().map == Map::scale) scaled = node.pointwise().constant;
  }
  EXPECT_EQ(scaled, 9);
}

TEST(Circuit, path_reading_keeps_the_names_of_terms_with_a_field) {
  Circuit c, squared;
  const auto first = c.input("first", 2), second = c.input("second", 2);
  c.output(c.affine("o", 2, {{"first/D", first}, {"second/D", second}}));
  path_reading(c, squared);
  ASSERT_EQ(squared.parameters().size(), c.parameters().size());
  for (std::size_t i = 0; i < c.parameters().size(); ++i)
    EXPECT_EQ(squared.parameters()[i].name, c.parameters()[i].name);
}

TEST(Circuit, path_reading_names_inhomogeneous_maps) {
  Circuit c, squared;
  auto x = c.input("x", 2);
  c.output(tanh(c.affine("z", 2, {{"W", x}})));
  EXPECT_NE(message_of([&] { path_reading(c, squared); }).find("tanh"), std::string::npos);
}

TEST(Parameters, parameters_are_found_by_name_in_one_vector) {
  Circuit c;
  auto x = c.input("x", 3);
  c.output(c.affine("z", 2, {{"W", x}}, Init::constant(7)));
  Parameters<double> p(c);
  p.initialize(1);
  EXPECT_EQ(p.at("z/bias")(0, 1), 7);
  p.at("z/W")(2, 1) = 5;
  EXPECT_EQ(p.flat()[5], 5);
  EXPECT_NE(message_of([&] { p.at("z/X"); }).find("z/W"), std::string::npos);
}

TEST(Circuit, an_affine_term_that_reads_joined_signals_has_a_matrix_for_each) {
  Circuit c;
  const Signal x = c.input("x", 2), y = c.input("y", 3), both = c.join({x, y});
  EXPECT_EQ(both.size(), 5);
  const Signal z = c.affine("z", 4, {{"W", both}});
  ASSERT_EQ(c.parameters().size(), 3u);
  EXPECT_EQ(c.parameters()[0].name, "z/W1");
  EXPECT_EQ(c.parameters()[0].rows, 2);
  EXPECT_EQ(c.parameters()[1].name, "z/W2");
  EXPECT_EQ(c.parameters()[1].rows, 3);
  EXPECT_EQ(c.nodes()[static_cast<std::size_t>(z.id)].terms().size(), 2u);
  EXPECT_THROW(tanh(both), UsageError);
  EXPECT_THROW(c.output(both), UsageError);
  EXPECT_THROW(c.join({}), UsageError);
  EXPECT_THROW(c.join({c.symbols("s", 3)}), UsageError);
  EXPECT_FALSE(c.is_symbols(both));
}

TEST(Circuit, reversed_scope_reverses_links) {
  Circuit c;
  const auto delay = [&](Signal link) { return c.nodes()[static_cast<std::size_t>(link.id)].link().delay; };
  {
    const auto reversal = c.reversed();
    EXPECT_EQ(delay(c.link(1)), Delay::next());
    EXPECT_EQ(delay(c.link(1, Delay::previous(3))), Delay::next(3));
    EXPECT_EQ(delay(c.link(1, Delay::up())), Delay::down());
    EXPECT_THROW(c.link(1, Delay::child(0)), UsageError);
    const auto twice = c.reversed();
    EXPECT_EQ(delay(c.link(1)), Delay::previous());
  }
  EXPECT_EQ(delay(c.link(1)), Delay::previous());
}

TEST(Circuit, RefusedNodeLeavesNoParameter) {
  Circuit c;
  const auto x = c.input("x", 3);
  c.output(c.affine("a", 2, {{"W", x}}));
  EXPECT_EQ(message_of([&] {
              c.affine("b", 2, {{"W", x}, {"W", x}});
            }),
            "circuit: parameter b/W already exists; use a scope or another name");
  EXPECT_EQ(message_of([&] {
              c.affine("a", 2, {{"V", x}, {"W", x}});
            }),
            "circuit: parameter a/W already exists; use a scope or another name");
  EXPECT_NE(message_of([&] { c.affine("d", 2, {{"W", x}, {"V", Signal()}}); }), "no error");
  EXPECT_EQ(c.parameters().size(), 2u);
  EXPECT_EQ(c.parameter_count(), 8);
}

TEST(Circuit, PlacesTheParametersOfManyTermsByName) {
  Circuit c;
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back("W" + std::to_string(i * 7919 % 300));
  std::vector<Term> terms;
  const auto x = c.input("x", 2);
  for (const std::string& name : names) terms.push_back({.parameter = name, .source = x});
  c.output(c.affine("a", 3, terms));
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (const ParameterInfo& p : c.parameters())
      if (p.name == "a/" + sorted[i]) {
        EXPECT_EQ(p.offset, static_cast<Index>(6 * i));
      }
}

}  // namespace
}  // namespace unfold
