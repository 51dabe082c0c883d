#include "distributed/shard_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unfold/distributed/processes.h"

namespace unfold {
namespace {

/// Returns the order of additions as text.
std::string written(Range node) {
  if (node.size() == 1) return std::to_string(node.begin);
  const Index middle = middle_of(node);
  return "(" + written({node.begin, middle}) + "+" + written({middle, node.end}) + ")";
}

std::string written(const std::vector<Range>& nodes) {
  std::string text;
  for (const Range node : nodes) text += "[" + std::to_string(node.begin) + "," + std::to_string(node.end) + ")";
  return text;
}

TEST(ShardTree, tree_adds_in_halves) {
  EXPECT_EQ(written(Range{0, 1}), "0");
  EXPECT_EQ(written(Range{0, 6}), "(((0+1)+2)+((3+4)+5))");
  EXPECT_EQ(written(Range{0, 8}), "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

TEST(ShardTree, range_is_decomposed_into_tree_nodes) {
  EXPECT_EQ(written(nodes_of(8, {0, 4})), "[0,4)");
  EXPECT_EQ(written(nodes_of(6, {3, 6})), "[3,6)");
  EXPECT_EQ(written(nodes_of(6, {2, 4})), "[2,3)[3,4)");
  EXPECT_EQ(written(nodes_of(6, {0, 6})), "[0,6)");
  EXPECT_EQ(written(nodes_of(6, {4, 4})), "");
}

TEST(ShardTree, process_ranges_decompose_into_nodes_without_gaps) {
  for (Index shards = 1; shards <= 20; ++shards)
    for (int count = 1; count <= shards; ++count) {
      Index next = 0;
      for (int p = 0; p < count; ++p) {
        const Range own = share_of_process(shards, p, count);
        EXPECT_FALSE(own.empty());
        for (const Range node : nodes_of(shards, own)) {
          EXPECT_EQ(node.begin, next);
          next = node.end;
        }
      }
      EXPECT_EQ(next, shards);
    }
}

TEST(ShardTree, siblings_are_found) {
  EXPECT_TRUE(are_siblings(6, {0, 2}, {2, 3}));
  EXPECT_TRUE(are_siblings(6, {0, 3}, {3, 6}));
  EXPECT_FALSE(are_siblings(6, {1, 2}, {2, 3}));
  EXPECT_FALSE(are_siblings(6, {2, 3}, {3, 6}));
  EXPECT_TRUE(are_siblings(2, {0, 1}, {1, 2}));
}

TEST(ShardTree, order_of_a_sum_is_that_of_the_tree) {
  const std::vector<double> x = {1e16, 1, -1e16, 1, 1, 3};
  EXPECT_EQ(sum_in_tree(x), ((x[0] + x[1]) + x[2]) + ((x[3] + x[4]) + x[5]));
  EXPECT_EQ(sum_in_tree({}), 0);
}

TEST(Processes, shares_are_even_and_aligned_to_the_grain) {
  for (const Index n : {0, 1, 63, 64, 1000, 4097})
    for (int count = 1; count <= 9; ++count) {
      Index next = 0;
      for (int p = 0; p < count; ++p) {
        const Range mine = share_of_process(n, p, count, 64);
        EXPECT_EQ(mine.begin, next);
        EXPECT_TRUE(mine.begin % 64 == 0 || mine.begin == n);
        EXPECT_LE(mine.size(), (n / count / 64 + 1) * 64);
        next = mine.end;
      }
      EXPECT_EQ(next, n);
    }
}

}  // namespace
}  // namespace unfold
