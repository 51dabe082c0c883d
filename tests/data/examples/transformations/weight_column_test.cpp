#include "data/examples/transformations/weight_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/text/example_weights.h"
#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;
using testing::HasSubstr;

using Numbers = std::vector<double>;

Examples weighted(const std::string& format, const std::string& text, ReaderOptions options = {}) {
  options.format = format;
  options.weights = "w";
  options.numbers = {"w"};
  return read_examples(Input::from_bytes("data", text), options);
}

std::string refusal_of(const std::string& format, const std::string& text) {
  try {
    weighted(format, text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(WeightColumn, is_a_weight_of_each_row_and_no_field) {
  const Examples examples =
      weighted("table", "x,w,class\n1.5,1,a\n2.5,2,b\n3.5,0.5,a\n", {.schema = {.rows = RowMeaning::independent}});
  EXPECT_EQ(column_of(examples, kExampleWeights).numbers, (Numbers{1, 2, 0.5}));
  EXPECT_TRUE(column_of(examples, kExampleWeights).once);
  EXPECT_EQ(examples.find("w"), nullptr);
}

TEST(WeightColumn, may_have_one_number_per_example_or_equal_numbers_at_its_positions) {
  const std::string once = "{\"x\": [1, 2], \"w\": 3}\n{\"x\": [4], \"w\": 1}\n";
  const std::string each = "{\"x\": [1, 2], \"w\": [3, 3]}\n{\"x\": [4], \"w\": [1]}\n";
  for (const std::string& text : {once, each})
    EXPECT_EQ(column_of(weighted("jsonl", text), kExampleWeights).numbers, (Numbers{3, 1}));
  EXPECT_THAT(refusal_of("jsonl", "{\"x\": [1, 2], \"w\": [3, 4]}\n"),
              HasSubstr("line 1: --weights w: w differs within an example of 2 positions"));
}

TEST(WeightColumn, examples_of_weight_0_are_left_out) {
  const Examples examples = weighted("jsonl", "{\"x\": [1, 2], \"w\": 0}\n{\"x\": [4], \"w\": 2}\n");
  EXPECT_EQ(examples.count(), 1);
  EXPECT_EQ(column_of(examples, "x").numbers, (Numbers{4}));
  EXPECT_EQ(column_of(examples, kExampleWeights).numbers, (Numbers{2}));
}

TEST(WeightColumn, is_not_part_of_the_vector_of_a_row) {
  const Examples examples =
      weighted("table", "a,w,c\n1,2,3\n4,0,6\n7,1,9\n", {.rows = {.field = "values", .one = "one"}});
  EXPECT_EQ(column_of(examples, "values").numbers, (Numbers{1, 3, 7, 9}));
  EXPECT_EQ(column_of(examples, kExampleWeights).numbers, (Numbers{2, 1}));
}

TEST(WeightColumn, other_values_are_rejected_with_their_line) {
  EXPECT_THAT(refusal_of("jsonl", "{\"x\": [1], \"w\": 1}\n{\"x\": [2], \"w\": -1}\n"),
              HasSubstr("line 2: --weights w: w is -1, but weights are numbers of at least 0"));
  EXPECT_THAT(refusal_of("jsonl", "{\"x\": [1], \"w\": 1}\n{\"x\": [2], \"w\": null}\n"),
              HasSubstr("line 2: --weights w: w is missing"));
  EXPECT_THAT(refusal_of("jsonl", "{\"x\": [1], \"w\": 0}\n"), HasSubstr("all weights are 0"));
  EXPECT_THAT(refusal_of("jsonl", "{\"x\": [1], \"w\": [[1, 2]]}\n"), HasSubstr("name a column of numbers"));
  EXPECT_THAT(refusal_of("jsonl", "{\"x\": [1], \"v\": 1}\n"), HasSubstr("w"));
}

}  // namespace
}  // namespace unfold
