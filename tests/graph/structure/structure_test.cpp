/// Orders and predecessors, compared with their definitions.

#include "unfold/graph/structure/structure.h"

#include <gtest/gtest.h>

#include "tests/support/circuits.h"

namespace unfold {
namespace {

using Kind = Structure::Kind;

void expect_consistent(const Structure& s, Corner corner) {
  const Structure::Order& order = s.order(corner);
  ASSERT_EQ(static_cast<Index>(order.rows.size()), s.positions());
  EXPECT_EQ(order.step_begin.front(), 0);
  EXPECT_EQ(order.step_begin.back(), s.positions());
  for (Index i = 0; i < s.positions(); ++i)
    EXPECT_EQ(order.items[static_cast<std::size_t>(order.rows[static_cast<std::size_t>(i)])], i);
}

Index step_of(const Structure::Order& order, Index row) {
  Index step = 0;
  while (order.step(step).end <= row) ++step;
  return step;
}

/// Expects every predecessor to be in an earlier step of the order for the delay.
void expect_earlier(const Structure& s, const Delay& delay, Corner corner) {
  const auto before = s.predecessors(delay, corner);
  for (Index row = 0; row < s.positions(); ++row) {
    const Index from = before[static_cast<std::size_t>(row)];
    if (from < 0) continue;
    EXPECT_LT(step_of(s.order(corner), from), step_of(s.order(corner), row));
  }
}

TEST(Structure, chains_are_sorted_by_decreasing_length_with_active_prefixes) {
  const Index lengths[] = {2, 4, 1, 4};
  const Structure s = Structure::chains(lengths);
  expect_consistent(s, Corner::top_left);
  EXPECT_EQ(s.positions(), 11);
  EXPECT_EQ(s.order().step_begin, (std::vector<Index>{0, 4, 7, 9, 11}));
  EXPECT_EQ(s.place(1), 0);
  EXPECT_EQ(s.place(3), 1);
  EXPECT_EQ(s.place(0), 2);
  EXPECT_EQ(s.place(2), 3);
  for (Index q = 0; q < 4; ++q)
    for (Index t = 0; t < lengths[q]; ++t)
      EXPECT_EQ(s.row(q, t), s.order().step_begin[static_cast<std::size_t>(t)] + s.place(q));
}

TEST(Structure, chain_predecessors_are_found) {
  const Index lengths[] = {2, 4, 1, 4};
  const Structure s = Structure::chains(lengths);
  for (Index k = 1; k <= 4; ++k) {
    const auto previous = s.predecessors(Delay::previous(k), Corner::top_left);
    const auto next = s.predecessors(Delay::next(k), Corner::top_left);
    for (Index q = 0; q < 4; ++q)
      for (Index t = 0; t < lengths[q]; ++t) {
        const auto row = static_cast<std::size_t>(s.row(q, t));
        EXPECT_EQ(previous[row], t - k >= 0 ? s.row(q, t - k) : -1);
        EXPECT_EQ(next[row], t + k < lengths[q] ? s.row(q, t + k) : -1);
      }
  }
}

TEST(Structure, grids_have_an_order_for_every_corner) {
  const std::pair<Index, Index> shapes[] = {{2, 3}, {4, 1}, {1, 1}, {3, 3}};
  const Structure s = Structure::grids(shapes);
  const auto expect = [&](Corner corner, std::initializer_list<Delay> delays) {
    expect_consistent(s, corner);
    for (const Delay& delay : delays) expect_earlier(s, delay, corner);
  };
  expect(Corner::top_left, {Delay::left(), Delay::up(), Delay::left(2)});
  expect(Corner::top_right, {Delay::right(), Delay::up()});
  expect(Corner::bottom_left, {Delay::left(), Delay::down()});
  expect(Corner::bottom_right, {Delay::right(), Delay::down(), Delay::down(2)});
  const auto up = s.predecessors(Delay::up(), Corner::top_left),
             right = s.predecessors(Delay::right(), Corner::top_left);
  for (Index i = 0; i < 3; ++i)
    for (Index j = 0; j < 3; ++j) {
      const auto row = static_cast<std::size_t>(s.row(3, 3 * i + j));
      EXPECT_EQ(up[row], i > 0 ? s.row(3, 3 * (i - 1) + j) : -1);
      EXPECT_EQ(right[row], j < 2 ? s.row(3, 3 * i + j + 1) : -1);
    }
}

TEST(Structure, children_are_computed_before_their_parents) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Structure s = test::random_structure(Kind::trees, seed);
    expect_consistent(s, Corner::top_left);
    for (Index child = 0; child < 3; ++child) expect_earlier(s, Delay::child(child), Corner::top_left);
  }
  const Tree tree{{{1, -1, 2}, {}, {3}, {}}};
  const Structure s = Structure::trees({&tree, 1});
  const auto third = s.predecessors(Delay::child(2), Corner::top_left);
  EXPECT_EQ(third[static_cast<std::size_t>(s.row(0, 0))], s.row(0, 2));
  EXPECT_EQ(third[static_cast<std::size_t>(s.row(0, 2))], -1);
  EXPECT_EQ(s.predecessors(Delay::child(1), Corner::top_left)[static_cast<std::size_t>(s.row(0, 0))], -1);
}

TEST(Structure, parents_and_all_children_are_known) {
  const Tree tree{{{1, -1, 2}, {}, {3}, {}}};
  const Structure s = Structure::trees({&tree, 1});
  const auto parents = s.predecessors(Delay::parent(), Corner::top_left);
  const Index expected[] = {-1, 0, 0, 2};
  for (Index v = 0; v < 4; ++v) EXPECT_EQ(parents[at(s.row(0, v))], expected[v] < 0 ? -1 : s.row(0, expected[v])) << v;
  const auto children = s.child_rows(s.row(0, 0));
  EXPECT_EQ(std::vector<Index>(children.begin(), children.end()), (std::vector<Index>{s.row(0, 1), -1, s.row(0, 2)}));
  EXPECT_TRUE(s.child_rows(s.row(0, 1)).empty());
  EXPECT_EQ(s.predecessors(Delay::children(), Corner::top_left)[at(s.row(0, 2))], s.row(0, 3));
  EXPECT_EQ(s.predecessors(Delay::each_child(2), Corner::top_left)[at(s.row(0, 3))], -1);
}

TEST(Structure, invalid_structures_are_rejected) {
  const auto tree = [](std::vector<std::vector<Index>> children) {
    const Tree t{std::move(children)};
    return Structure::trees({&t, 1});
  };
  EXPECT_THROW(tree({{1}, {0}}), UsageError);      // a cycle
  EXPECT_THROW(tree({{2}, {2}, {}}), UsageError);  // two parents
  EXPECT_THROW(tree({{5}}), UsageError);           // no such node
  EXPECT_THROW(Structure::chains(2, 0), UsageError);
  EXPECT_THROW(Structure::chains(0, 3), UsageError);
  EXPECT_THROW(Structure::chains(1, 3).predecessors(Delay::child(0), Corner::top_left), UsageError);
  EXPECT_THROW(tree({{}}).predecessors(Delay::left(), Corner::top_left), UsageError);
}

}  // namespace
}  // namespace unfold
