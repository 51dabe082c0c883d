/// Ends of whole sequences, and the conditions given before the first position.

#include "data/examples/transformations/sequence_ends.h"

#include <gtest/gtest.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

Examples names(SequenceEnd end, std::vector<std::string> given = {"label"}) {
  return read_as("labelled", "girl\tEva\nboy\tBo\n",
                 {.text = SymbolKind::chars,
                  .text_kind_set = true,
                  .whole = {.end = end, .field = "text", .given = std::move(given)}});
}

TEST(SequenceEnds, end_symbol_follows_the_last_symbol) {
  const Examples examples = names(SequenceEnd::symbol);
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"E", "v", "a", "</s>", "B", "o", "</s>"}));
  EXPECT_EQ(examples.ends, (Indices{4, 7}));
  EXPECT_EQ(examples.lines, (Indices{1, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(column_of(examples, "text").missing, Flags(7, 0));
}

TEST(SequenceEnds, stop_is_a_separate_field) {
  const Examples examples = names(SequenceEnd::stop);
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"E", "v", "a", "", "B", "o", ""}));
  EXPECT_EQ(column_of(examples, "text").missing, (Flags{0, 0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(entries_of(examples, "text.stop"), (Texts{"go", "go", "go", "stop", "go", "go", "stop"}));
}

TEST(SequenceEnds, steps_left_include_the_predicted_one) {
  const Examples examples = names(SequenceEnd::left);
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"E", "v", "a", "B", "o"}));
  EXPECT_EQ(column_of(examples, "text.left").width, kLeftNumbers);
  EXPECT_EQ(column_of(examples, "text.left").numbers, (Numbers{3, 0, 1.0 / 3, 2, 1, 0.5, 1, 2, 1, 2, 0, 0.5, 1, 1, 1}));
}

TEST(SequenceEnds, condition_given_once_is_a_source_of_one_position) {
  const Examples examples = names(SequenceEnd::symbol);
  EXPECT_TRUE(column_of(examples, "label").source);
  EXPECT_TRUE(column_of(examples, "label").once);
  EXPECT_EQ(column_of(examples, "label").ends, (Indices{1, 2}));
  EXPECT_FALSE(column_of(names(SequenceEnd::symbol, {}), "label").source);
  const Index second[] = {1};
  EXPECT_EQ(column_of(subset(examples, second), "label").ends, (Indices{1}));
}

TEST(SequenceEnds, vectors_end_by_a_stop) {
  const ReaderOptions options{.whole = {.end = SequenceEnd::stop, .field = "value", .given = {}}};
  const Examples examples = read_as("jsonl", "{\"value\":[[1,2],[3,4]]}\n{\"value\":[[5,6]]}\n", options);
  EXPECT_EQ(column_of(examples, "value").numbers, (Numbers{1, 2, 3, 4, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(column_of(examples, "value").missing, (Flags{0, 0, 1, 0, 1}));
  EXPECT_EQ(entries_of(examples, "value.stop"), (Texts{"go", "go", "stop", "go", "stop"}));
}

TEST(SequenceEnds, data_without_a_possible_end_are_rejected) {
  const auto options = [](SequenceEnd end, const char* field) {
    return ReaderOptions{.whole = {.end = end, .field = field, .given = {}}};
  };
  EXPECT_NE(refusal("labelled", "a\tb </s>\n", options(SequenceEnd::symbol, "text")).find("is reserved for the end"),
            std::string::npos);
  EXPECT_THROW(read_as("labelled", "a\tb c\n", options(SequenceEnd::symbol, "label")), UsageError);
  EXPECT_THROW(read_as("jsonl", "{\"value\":[1,2]}\n", options(SequenceEnd::symbol, "value")), UsageError);
  EXPECT_NO_THROW(read_as("labelled", "a\tb c\n", options(SequenceEnd::symbol, "other")));
}

}  // namespace
}  // namespace unfold
