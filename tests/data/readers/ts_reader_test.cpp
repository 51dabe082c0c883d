#include <gtest/gtest.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

const std::string kHeader = "# a comment\n@problemName Motions\n@timeStamps false\n@classLabel true up down\n@data\n";

TEST(TsReader, line_is_a_series_with_its_class) {
  const Examples examples = read_as("ts", kHeader + "1,2.5,-3:up\n\n4,?:down\n");
  EXPECT_EQ(names_of(examples), (Texts{"values", "label"}));
  EXPECT_EQ(examples.ends, (Indices{3, 5}));
  EXPECT_EQ(examples.example_lines, (Indices{6, 8}));
  const ExampleColumn& values = column_of(examples, "values");
  EXPECT_EQ(values.width, 1);
  EXPECT_EQ(values.numbers, (Numbers{1, 2.5, -3, 4, 0}));
  EXPECT_FALSE(values.present(4));
  EXPECT_TRUE(column_of(examples, "label").once);
  EXPECT_EQ(column_of(examples, "label").texts, (Texts{"up", "down"}));
}

TEST(TsReader, dimensions_are_the_numbers_of_a_position) {
  const Examples examples = read_as("ts", kHeader + "1,2:10,20:100,200:up\n");
  EXPECT_EQ(column_of(examples, "values").width, 3);
  EXPECT_EQ(column_of(examples, "values").numbers, (Numbers{1, 10, 100, 2, 20, 200}));
}

TEST(TsReader, target_is_a_number_and_label_may_be_absent) {
  const Examples regression = read_as("ts", "@problemName p\n@targetlabel true\n@data\n1,2:0.5\n");
  EXPECT_EQ(column_of(regression, "target").numbers, Numbers{0.5});
  EXPECT_TRUE(column_of(regression, "target").once);
  const Examples series = read_as("ts", "@problemName p\n@classLabel false\n@data\n1,2:3,4\n");
  EXPECT_EQ(names_of(series), Texts{"values"});
  EXPECT_EQ(column_of(series, "values").width, 2);
}

TEST(TsReader, mistakes_are_named_with_their_line) {
  EXPECT_TRUE(contains(refusal("ts", kHeader + "1,2\n"),
                       "data: line 6: the class or target after the last colon, which the header states, is missing"));
  EXPECT_TRUE(contains(refusal("ts", kHeader + "1,x:up\n"), "data: line 6: \"x\", value 2 of the series"));
  EXPECT_TRUE(contains(refusal("ts", kHeader + "1,2:up\n1:2:up\n"), "data: line 7: the series has 2 dimensions"));
  EXPECT_TRUE(contains(refusal("ts", kHeader + "1,2:3:up\n"), "its dimensions have 2 and 1 values"));
  EXPECT_TRUE(contains(refusal("ts", kHeader + "1,?:3,4:up\n"), "1 of 2 dimensions have no value 2"));
  EXPECT_TRUE(contains(refusal("ts", "@problemName p\n1,2\n"), "the line @data is missing"));
  EXPECT_TRUE(contains(refusal("ts", "@timeStamps true\n@data\n"), "data: line 2: series with time stamps"));
  EXPECT_TRUE(contains(refusal("ts", kHeader), "it contains no examples"));
}

TEST(TsReader, header_is_recognized) {
  EXPECT_EQ(format_of("a.ts", kHeader + "1,2:up\n"), "ts");
  EXPECT_EQ(format_of("a.ts", "const a = 1;\n"), "text");
  EXPECT_EQ(format_of("a.tsf", "@attribute series_name string\n@frequency monthly\n@data\nT1:1,2\n"), "text");
}

}  // namespace
}  // namespace unfold
