#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;
using testing::HasSubstr;

const VectorRows kAll = {.field = "values", .one = "one"};

Examples vectors_of(const std::string& format, const std::string& text, const VectorRows& how = kAll) {
  return read_examples(Input::from_bytes("data", text), {.format = format, .rows = how});
}

std::string refusal_of(const std::string& text, const VectorRows& how = kAll) {
  try {
    vectors_of("table", text, how);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(VectorRows, table_row_is_an_example_with_one_vector) {
  const Examples examples = vectors_of("table", "a,b,c\n1,2,3\n4,5,6\n");
  EXPECT_EQ(examples.ends, (Indices{1, 2}));
  EXPECT_EQ(examples.example_lines, (Indices{2, 3}));
  const ExampleColumn& values = column_of(examples, "values");
  EXPECT_TRUE(values.once);
  EXPECT_EQ(values.width, 3);
  EXPECT_EQ(values.numbers, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values.parts, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(column_of(examples, "one").numbers, (std::vector<double>{1, 1}));
  EXPECT_EQ(examples.columns.size(), 2U);
}

TEST(VectorRows, columns_are_selected_by_name_in_the_given_order) {
  const Examples examples =
      vectors_of("table", "a,kind,c\n1,x,3\n4,y,6\n", {.field = "v", .one = "one", .columns = {"c", "a"}});
  EXPECT_EQ(column_of(examples, "v").numbers, (std::vector<double>{3, 1, 6, 4}));
  EXPECT_EQ(column_of(examples, "v").parts, (std::vector<std::string>{"c", "a"}));
}

TEST(VectorRows, vector_columns_are_concatenated) {
  const Examples examples = vectors_of("rolls", "21 - 22,108\n108\n");
  EXPECT_EQ(examples.count(), 4);
  const ExampleColumn& values = column_of(examples, "values");
  EXPECT_EQ(values.width, 88);
  EXPECT_EQ(values.parts.front(), "notes.1");
  EXPECT_EQ(values.numbers[2 * 88 + 1], 1);
  EXPECT_EQ(values.numbers[3 * 88 + 87], 1);
}

TEST(VectorRows, text_columns_are_classes) { EXPECT_EQ(refusal_of("a,kind\n1,x\n2,y\n"), ""); }

TEST(VectorRows, missing_values_and_unknown_columns_are_rejected_with_their_line) {
  EXPECT_THAT(refusal_of("a,b\n1,2\n,2\n"), HasSubstr("data: line 3: a is missing; remove the row"));
  EXPECT_THAT(refusal_of("a,b\n1,2\n", {.field = "v", .one = "one", .columns = {"A"}}), HasSubstr("a, b"));
}

TEST(VectorRows, examples_are_unchanged_without_column_names) {
  EXPECT_EQ(vectors_of("table", "a,b\n1,2\n", {}), read_as("table", "a,b\n1,2\n"));
}

}  // namespace
}  // namespace unfold
