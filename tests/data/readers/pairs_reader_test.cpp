#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

TEST(PairsReader, tab_separates_source_and_target) {
  const Examples examples = read_as("pairs", "CAT\tK AE T\r\nA\tAH\n\n");
  EXPECT_EQ(names_of(examples), (Texts{"source", "target"}));
  EXPECT_EQ(entries_of(examples, "source"), (Texts{"C", "A", "T", "A"}));
  EXPECT_EQ(entries_of(examples, "target"), (Texts{"K", "AE", "T", "</s>", "AH", "</s>"}));
  EXPECT_TRUE(column_of(examples, "source").source);
  EXPECT_EQ(column_of(examples, "source").ends, (Indices{3, 4}));
  EXPECT_EQ(examples.ends, (Indices{4, 6}));
  EXPECT_EQ(examples.example_lines, (Indices{1, 2}));
}

TEST(PairsReader, sources_without_targets_have_one_position) {
  const Examples examples = read_as("pairs", "CAT\nA\n");
  EXPECT_EQ(names_of(examples), (Texts{"source"}));
  EXPECT_EQ(examples.ends, (Indices{1, 2}));
}

TEST(PairsReader, empty_target_is_only_an_end) {
  EXPECT_EQ(entries_of(read_as("pairs", "CAT\t\n"), "target"), (Texts{"</s>"}));
}

TEST(PairsReader, stops_are_a_separate_field) {
  const Examples examples = read_as("pairs", "CAT\tK AE\nA\tAH\n", {.stops = true});
  EXPECT_EQ(entries_of(examples, "target"), (Texts{"K", "AE", "", "AH", ""}));
  EXPECT_EQ(column_of(examples, "target").missing, (Flags{0, 0, 1, 0, 1}));
  EXPECT_EQ(entries_of(examples, "target.stop"), (Texts{"go", "go", "stop", "go", "stop"}));
}

TEST(PairsReader, symbol_kinds_can_be_set) {
  const Examples examples = read_as(
      "pairs", "ab c\tx y\n", {.text = SymbolKind::words, .target_text = SymbolKind::chars, .text_kind_set = true});
  EXPECT_EQ(entries_of(examples, "source"), (Texts{"ab", "c"}));
  EXPECT_EQ(entries_of(examples, "target"), (Texts{"x", " ", "y", "</s>"}));
}

TEST(PairsReader, invalid_pairs_are_rejected_with_their_line) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\tb\nc\n", "line 2"},      {"a\nc\td\n", "line 2"},   {"a\tb\tc\n", "line 1"}, {"\tb\n", "line 1"},
      {"a\tb\n\nc\td\n", "line 2"}, {"a\t</s> b\n", "line 1"}, {"\n", "no example"}};
  for (const auto& [text, where] : cases) try {
      read_as("pairs", text);
      ADD_FAILURE() << text;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(where), std::string::npos) << error.what();
    }
}

RC_GTEST_PROP(PairsReader, every_input_is_read_or_rejected, (const std::string& text)) {
  try {
    const Examples examples = read_as("pairs", text);
    RC_ASSERT(examples.count() > 0);
    RC_ASSERT(examples.columns[0].ends.back() == examples.columns[0].entries());
  } catch (const DataError&) {
  }
}

TEST(Sources, sources_follow_examples_into_subsets_and_concatenations) {
  const Examples all = read_as("pairs", "CAT\tK AE T\nA\tAH\nBE\tB IY\n");
  const Index chosen[] = {2, 0};
  Examples some = subset(all, chosen);
  EXPECT_EQ(entries_of(some, "source"), (Texts{"B", "E", "C", "A", "T"}));
  EXPECT_EQ(column_of(some, "source").ends, (Indices{2, 5}));
  append(some, all);
  EXPECT_EQ(column_of(some, "source").ends, (Indices{2, 5, 8, 9, 11}));
}

}  // namespace
}  // namespace unfold
