#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

TEST(TreesReader, line_is_a_tree_and_positions_are_nodes_below_their_parent) {
  const Examples examples = read_as("trees", "(3 (2 The) (4 (3 good) (_ film)))\n(0 bad)\r\n\n");
  EXPECT_EQ(names_of(examples), (Texts{"word", "label"}));
  EXPECT_EQ(entries_of(examples, "word"), (Texts{"The", "good", "film", "", "", "bad"}));
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"2", "3", "", "4", "3", "0"}));
  EXPECT_EQ(column_of(examples, "word").missing, (Flags{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(column_of(examples, "label").missing, (Flags{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(examples.parents, (Indices{4, 3, 3, 4, -1, -1}));
  EXPECT_EQ(examples.ends, (Indices{5, 6}));
  EXPECT_EQ(examples.lines, (Indices{1, 1, 1, 1, 1, 2}));
  EXPECT_EQ(examples.example_lines, (Indices{1, 2}));
}

TEST(TreesReader, node_may_have_any_number_of_children_including_bare_words) {
  const Examples examples = read_as("trees", "(S (NP the old (N cat))(VP sat) .)\n");
  EXPECT_EQ(entries_of(examples, "word"), (Texts{"the", "old", "cat", "", "sat", ".", ""}));
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"", "", "N", "NP", "VP", "", "S"}));
  EXPECT_EQ(examples.parents, (Indices{3, 3, 3, 6, 6, 6, -1}));
}

TEST(TreesReader, words_are_split_only_at_ascii_blanks) {
  const Examples examples = read_as("trees",
                                    "(2 (2 a\xC2\xA0"
                                    "b)\t(2 \xC3\xA9t\xC3\xA9))\n");
  EXPECT_EQ(entries_of(examples, "word"), (Texts{"a\xC2\xA0"
                                                 "b",
                                                 "\xC3\xA9t\xC3\xA9", ""}));
}

TEST(TreesReader, invalid_tree_is_rejected_with_its_line_and_a_remedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"(2 (2 a) (2 b)", "1 bracket is not closed at the end of the line"},
      {"((2 a) (2 b))", "a node has no label; write (_ ...)"},
      {"(2 a) b)", "\"b\" after the end of the tree; write one tree per line"},
      {"(2 a) (2 b)", "\"(\" after the end of the tree"},
      {"(2 a))", "\")\" after the end of the tree"},
      {")", "a closing bracket without an opening one"},
      {"2 a", "\"2\" is outside all brackets; a tree looks like (3 (2 The) (4 film))"},
      {"(2)", "an empty node (2); give it a word, or remove it"},
      {"(2 (3) (2 b))", "an empty node (3)"},
      {"()", "a node has no label"},
      {"(", "a node has no label"},
  };
  for (const auto& [line, message] : cases) {
    const std::string found = refusal("trees", "(2 a)\n" + std::string(line) + "\n");
    EXPECT_TRUE(contains(found, "data: line 2: " + std::string(message))) << line << ": " << found;
  }
  EXPECT_TRUE(contains(refusal("trees", "(2 a)\n \n(2 b)\n"), "data: line 2: an empty line instead of a tree"));
  EXPECT_TRUE(contains(refusal("trees", ""), "it contains no examples"));
}

TEST(TreesReader, thousand_levels_are_read_and_more_are_rejected) {
  const auto deep = [](int levels) {
    std::string line;
    for (int i = 0; i < levels; ++i) line += "(1 ";
    return line + "word" + std::string(static_cast<std::size_t>(levels), ')') + "\n";
  };
  EXPECT_EQ(read_as("trees", deep(1000)).positions(), 1000);
  EXPECT_TRUE(contains(refusal("trees", deep(1001)), "data: line 1: the tree is deeper than 1000 levels"));
  EXPECT_TRUE(contains(refusal("trees", deep(300'000)), "data: line 1: the tree is deeper than 1000 levels"));
}

TEST(TreesReader, tree_format_is_detected_if_every_line_is_a_tree) {
  const FormatGuess guess = guess_format(Input::from_bytes("train.txt", "(3 (2 The) (4 film))\n(1 bad)\n"));
  EXPECT_EQ(guess.format, "trees");
  EXPECT_EQ(guess.why, "one bracketed tree per line");
  EXPECT_NE(format_of("x.lisp", "(define (square x)\n  (* x x))\n"), "trees");
  EXPECT_NE(format_of("x.txt", "(an aside)\nand more\n"), "trees");
  EXPECT_NE(format_of("x.txt", "\n"), "trees");
}

TEST(TreesReader, treebank_has_the_documented_trees_and_labels) {
  UNFOLD_REAL_DATA(path, "sst/dev.txt");
  const Input input = Input::open(path);
  EXPECT_EQ(guess_format(input).format, "trees");
  const Examples examples = read_examples(input, {.format = "trees"});
  EXPECT_EQ(examples.count(), 1101);
  const std::vector<std::string> labels = entries_of(examples, "label");
  std::vector<Index> roots(5);
  Index leaves = 0;
  for (Index e = 0; e < examples.count(); ++e) ++roots[at(std::stoi(labels[at(examples.end(e) - 1)]))];
  for (const char missing : column_of(examples, "word").missing) leaves += missing == 0 ? 1 : 0;
  EXPECT_EQ(roots, (Indices{139, 289, 229, 279, 165}));
  EXPECT_EQ(examples.positions() - examples.count(), 2 * (leaves - examples.count()));  // every tree is binary
}

/// Returns a tree of the given shape with one label per node and words at the leaves.
std::string written(const std::vector<std::vector<Index>>& children, Index v) {
  std::string text = "(L" + std::to_string(v);
  if (children[at(v)].empty()) return text + " w" + std::to_string(v) + ")";
  for (const Index child : children[at(v)]) text += " " + written(children, child);
  return text + ")";
}

RC_GTEST_PROP(TreesReader, written_trees_round_trip, ()) {
  const auto count = *rc::gen::inRange<Index>(1, 40);
  std::vector<std::vector<Index>> children(at(count));
  for (Index v = 1; v < count; ++v) children[at(*rc::gen::inRange<Index>(0, v))].push_back(v);
  const Examples examples = read_as("trees", written(children, 0) + "\n");
  RC_ASSERT(examples.positions() == count);
  const auto name = [&](Index position) {
    return std::stol(std::string(examples.columns[1].texts[position].substr(1)));
  };
  std::vector<std::vector<Index>> found(at(count));
  for (Index p = 0; p < count; ++p) {
    RC_ASSERT(examples.parents[at(p)] > p || (examples.parents[at(p)] == -1 && p == count - 1));
    if (examples.parents[at(p)] >= 0) found[at(name(examples.parents[at(p)]))].push_back(name(p));
    const bool leaf = children[at(name(p))].empty();
    RC_ASSERT(examples.columns[0].present(p) == leaf);
    if (leaf) RC_ASSERT(examples.columns[0].texts[at(p)] == "w" + std::to_string(name(p)));
  }
  RC_ASSERT(found == children);
}

}  // namespace
}  // namespace unfold
