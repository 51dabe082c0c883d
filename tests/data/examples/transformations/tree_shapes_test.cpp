#include "data/examples/transformations/tree_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

constexpr const char* kSentiment = "(3 (2 The) (4 (3 good) (_ film)))\n(0 (1 bad))\n";

std::string conllu(const std::vector<std::pair<std::string, std::string>>& words) {
  std::string text;
  int id = 0;
  for (const auto& [form, head] : words)
    text += std::to_string(++id) + "\t" + form + "\t_\tX\t_\t_\t" + head + "\tdep\t_\t_\n";
  return text + "\n";
}

/// Returns the leaves below each node in brackets, according to the parents; of the columns only `word` is read.
std::string brackets(const Examples& examples, Index example, const std::string& column) {
  const Index begin = examples.begin(example), end = examples.end(example);
  std::vector<std::string> texts;
  for (Index p = begin; p < end; ++p) {
    std::string below;
    for (Index c = begin; c < p; ++c)
      if (examples.parents[at(c)] == p - begin) below += (below.empty() ? "" : " ") + texts[at(c - begin)];
    const std::string own(examples.column(column).texts[p]);
    texts.push_back(below.empty() ? own : "(" + below + (own.empty() ? "" : " " + own) + ")");
  }
  return texts.back();
}

TEST(TreeShapes, tree_leaves_keep_leaf_and_root_entries) {
  for (const auto& [shape, wanted] :
       {std::pair{TreeShape::balanced, "((The good) film)"}, std::pair{TreeShape::left, "((The good) film)"},
        std::pair{TreeShape::right, "(The (good film))"}}) {
    const Examples examples = read_as("trees", kSentiment, {.trees = shape});
    EXPECT_EQ(brackets(examples, 0, "word"), wanted);
    EXPECT_EQ(examples.ends, (Indices{5, 6}));
    EXPECT_EQ(examples.lines, (Indices{1, 1, 1, 1, 1, 2}));
    const Texts labels = entries_of(examples, "label");
    EXPECT_EQ(labels[4], "3");                      // of the root
    EXPECT_EQ(std::ranges::count(labels, "4"), 0);  // of the removed node
    EXPECT_EQ(labels[5], "0");
    EXPECT_EQ(entries_of(examples, "word")[5], "bad");
  }
}

TEST(TreeShapes, leaves_keep_their_order_around_bare_words) {
  const char* tree = "(1 a (2 b) c (3 d))\n";
  EXPECT_EQ(brackets(read_as("trees", tree), 0, "word"), "(a b c d)");
  EXPECT_EQ(brackets(read_as("trees", tree, {.trees = TreeShape::right}), 0, "word"), "(a (b (c d)))");
}

TEST(TreeShapes, latent_trees_have_words_first_and_binary_nodes) {
  const Examples examples = read_as("trees", kSentiment, {.trees = TreeShape::found});
  EXPECT_TRUE(examples.found);
  EXPECT_EQ(examples.ends, (Indices{5, 6}));
  EXPECT_EQ(examples.parents, (Indices{3, 3, 4, 4, -1, -1}));
  EXPECT_EQ(entries_of(examples, "word"), (Texts{"The", "good", "film", "", "", "bad"}));
  EXPECT_EQ(entries_of(examples, "label")[4], "3");
  EXPECT_FALSE(read_as("trees", kSentiment, {.trees = TreeShape::left}).found);
}

TEST(TreeShapes, trees_over_sequences_have_the_expected_depth) {
  const auto depth = [](TreeShape shape, Index words) {
    std::string text = "a";
    for (Index i = 1; i < words; ++i) text += " a";
    const Examples examples =
        read_as("labelled", "x\t" + text + "\n", {.text = SymbolKind::words, .text_kind_set = true, .trees = shape});
    EXPECT_EQ(examples.positions(), 2 * words - 1);
    EXPECT_EQ(entries_of(examples, "label"), (Texts{"x"}));
    std::vector<Index> levels(at(examples.positions()));
    for (Index p = 0; p < examples.positions(); ++p) {
      EXPECT_GT(p + 1 == examples.positions() ? p + 1 : examples.parents[at(p)], p);
      if (examples.parents[at(p)] >= 0)
        levels[at(examples.parents[at(p)])] = std::max(levels[at(examples.parents[at(p)])], levels[at(p)] + 1);
    }
    return levels.back();
  };
  const Index balanced[] = {0, 1, 2, 2, 3, 3, 3, 3, 4};
  for (Index n = 1; n <= 9; ++n) {
    EXPECT_EQ(depth(TreeShape::balanced, n), balanced[n - 1]) << n;
    EXPECT_EQ(depth(TreeShape::left, n), n - 1);
    EXPECT_EQ(depth(TreeShape::right, n), n - 1);
  }
}

TEST(TreeShapes, dependency_trees_put_children_before_heads_in_word_order) {
  const Examples examples =
      read_as("columns", conllu({{"the", "2"}, {"cat", "3"}, {"sat", "0"}, {"down", "3"}}) + conllu({{"yes", "0"}}),
              {.trees = TreeShape::heads});
  EXPECT_EQ(entries_of(examples, "form"), (Texts{"the", "cat", "down", "sat", "yes"}));
  EXPECT_EQ(examples.parents, (Indices{1, 3, 3, -1, -1}));
  EXPECT_EQ(examples.lines, (Indices{1, 2, 4, 3, 6}));
  EXPECT_EQ(brackets(examples, 0, "form"), "((the cat) down sat)");
  for (const char* gone : {"id", "head", "deps"}) EXPECT_EQ(examples.find(gone), nullptr) << gone;
}

TEST(TreeShapes, invalid_tree_is_rejected_with_its_line_and_a_remedy) {
  const ReaderOptions heads{.trees = TreeShape::heads};
  const std::string good = conllu({{"yes", "0"}});
  const auto refused = [&](const std::string& sentence) { return refusal("columns", good + sentence, heads); };
  EXPECT_TRUE(contains(refused(conllu({{"a", "0"}, {"b", "0"}})), "line 4: a second word has head 0"));
  EXPECT_TRUE(
      contains(refused(conllu({{"a", "2"}, {"b", "7"}})), "line 4: its head is \"7\", which is not the id of a word"));
  EXPECT_TRUE(contains(refused(conllu({{"a", "_"}})), "line 3: its head is \"\""));
  EXPECT_TRUE(contains(refused(conllu({{"a", "2"}, {"b", "1"}})), "line 3: no word of this sentence has head 0"));
  EXPECT_TRUE(contains(refused(conllu({{"a", "0"}, {"b", "3"}, {"c", "2"}})), "form a cycle without a root"));
  std::vector<std::pair<std::string, std::string>> deep = {{"w", "0"}};
  for (int i = 1; i < 1200; ++i) deep.emplace_back("w", std::to_string(i));
  EXPECT_TRUE(contains(refused(conllu(deep)), "the tree is deeper than 1000 levels"));
  std::string words = "x\tw";
  for (int i = 0; i < 1000; ++i) words += " w";
  EXPECT_TRUE(contains(
      refusal("labelled", words + "\n", {.text = SymbolKind::words, .text_kind_set = true, .trees = TreeShape::left}),
      "line 1: 1001 leaves give a tree deeper than 1000 levels; use --trees balanced"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { read_as("trees", kSentiment, heads); }), "has no id"));
  EXPECT_TRUE(contains(message_of<UsageError>([] { parse_tree_shape("balance"); }), "did you mean \"balanced\"?"));
}

TEST(TreeShapes, character_trees_are_marked_as_characters) {
  const char* names = "f\tanna\nm\tkarl\n";
  ASSERT_TRUE(column_of(read_as("labelled", names), "text").characters);
  const Examples examples = read_as("labelled", names, {.trees = TreeShape::balanced});
  EXPECT_EQ(examples.positions(), 2 * 7);
  EXPECT_TRUE(column_of(examples, "text").characters);
}

}  // namespace
}  // namespace unfold
