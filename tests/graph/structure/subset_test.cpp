/// Some sequences of a structure, compared with the whole structure.

#include <gtest/gtest.h>

#include "graph/structure/subset.h"

namespace unfold {
namespace {

std::size_t place_in(Index i) { return static_cast<std::size_t>(i); }

/// Rows keep their sequences, positions and predecessors.
void expect_same_neighbors(const Structure& whole, const std::vector<Index>& chosen, const Delay& delay) {
  std::vector<std::vector<Index>> rows;
  const Structure part = subset(whole, chosen, rows);
  ASSERT_EQ(part.sequences(), static_cast<Index>(chosen.size()));
  for (Index s = 0; s < part.sequences(); ++s)
    for (Index p = 0; p < part.size(s); ++p)
      EXPECT_EQ(rows[0][place_in(part.row(s, p))], whole.row(chosen[place_in(s)], p));
  const auto here = part.predecessors(delay, Corner::top_left), there = whole.predecessors(delay, Corner::top_left);
  for (Index r = 0; r < part.positions(); ++r) {
    const Index before = here[place_in(r)], expected = there[place_in(rows[0][place_in(r)])];
    EXPECT_EQ(before < 0 ? -1 : rows[0][place_in(before)], expected);
  }
}

TEST(Subset, subset_of_chains_keeps_row_order) {
  const Structure whole = Structure::chains({2, 4, 1, 4, 3});
  expect_same_neighbors(whole, {1, 3, 4}, Delay::previous(1));
  std::vector<std::vector<Index>> rows;
  subset(whole, std::vector<Index>{1, 3, 4}, rows);
  EXPECT_TRUE(std::is_sorted(rows[0].begin(), rows[0].end()));
}

TEST(Subset, subset_of_grids_and_trees_keeps_neighbors) {
  const std::pair<Index, Index> shapes[] = {{2, 3}, {1, 4}, {3, 3}};
  expect_same_neighbors(Structure::grids(shapes), {0, 2}, Delay::up());
  const Tree trees[] = {{{{1, 2}, {}, {}}}, {{{}}}, {{{1, -1}, {2}, {}}}};
  const Structure whole = Structure::trees(trees);
  expect_same_neighbors(whole, {0, 2}, Delay::parent());
  expect_same_neighbors(whole, {2}, Delay::child(0));
}

TEST(Subset, subset_of_chains_includes_their_sources) {
  // Words of two sentences that share spellings as sources.
  const Structure whole = Structure::chains({2, 3, 1}).with_source(Structure::chains({5, 2, 4, 3}), {3, 1, 0, 1, 2, 3});
  std::vector<std::vector<Index>> rows;
  const Structure part = subset(whole, std::vector<Index>{0, 2}, rows);
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_EQ(part.source()->sequences(), 2);  // 1 and 3
  const auto here = part.rows_seen(Delay::source_last(), 1), there = whole.rows_seen(Delay::source_last(), 1);
  for (Index r = 0; r < part.positions(); ++r)
    EXPECT_EQ(rows[1][place_in(here[place_in(r)])], there[place_in(rows[0][place_in(r)])]);
}

TEST(Subset, subset_of_grids_includes_finer_grids) {
  const std::pair<Index, Index> shapes[] = {{4, 4}, {2, 6}, {3, 3}};
  const std::vector<Index> sides = {2};
  const Structure whole = Structure::grids(shapes, sides);
  std::vector<std::vector<Index>> rows;
  const Structure part = subset(whole, std::vector<Index>{1, 2}, rows);
  const auto here = part.rows_seen(Delay::block(2), 1), there = whole.rows_seen(Delay::block(2), 1);
  for (Index r = 0; r < part.positions(); ++r)
    for (Index k = 0; k < 4; ++k) {
      const Index row = here[place_in(4 * r + k)], expected = there[place_in(4 * rows[0][place_in(r)] + k)];
      EXPECT_EQ(row < 0 ? -1 : rows[1][place_in(row)], expected);
    }
}

}  // namespace
}  // namespace unfold
