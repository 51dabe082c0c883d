#include <gmock/gmock.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

using GridShapes = std::vector<std::pair<Index, Index>>;

TEST(GridsReader, block_of_lines_is_a_grid_and_character_is_a_position) {
  const Examples examples = read_as("grids", "ab\xC3\xA9\ncde\n\n\nx\ny\r\n");
  EXPECT_EQ(names_of(examples), (Texts{"text"}));
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"a", "b", "\xC3\xA9", "c", "d", "e", "x", "y"}));
  EXPECT_EQ(examples.shapes, (GridShapes{{2, 3}, {2, 1}}));
  EXPECT_EQ(examples.ends, (Indices{6, 8}));
  EXPECT_EQ(examples.lines, (Indices{1, 1, 1, 2, 2, 2, 5, 6}));
  EXPECT_EQ(examples.example_lines, (Indices{1, 5}));
  EXPECT_TRUE(examples.are_grids());
}

TEST(GridsReader, labels_follow_a_tab_and_short_rows_end_in_missing_values) {
  const Examples examples = read_as("grids", "a b\tx_y\nc\tz\n");
  EXPECT_EQ(names_of(examples), (Texts{"text", "label"}));
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"a", " ", "b", "c", "", ""}));
  EXPECT_EQ(column_of(examples, "text").missing, (Flags{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"x", "", "y", "z", "", ""}));
  EXPECT_EQ(column_of(examples, "label").missing, (Flags{0, 1, 0, 0, 1, 1}));
  EXPECT_EQ(examples.shapes, (GridShapes{{2, 3}}));
}

TEST(GridsReader, invalid_grid_is_rejected_with_its_line_and_a_remedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"ab\txy\ncd\n", "line 2: the row has no labels, but previous rows have them; write all labels, with _"},
      {"ab\ncd\txy\n", "line 2: the row has labels"},
      {"ab\tx\n", "line 1: the row has 2 characters, but 1 labels; write one label per character"},
      {"a\tb\tc\n", "line 1: the line has more than one tab"},
      {"\tb\n", "line 1: the row has no characters"},
  };
  for (const auto& [text, message] : cases) {
    const std::string said = refusal("grids", text);
    EXPECT_THAT(said, HasSubstr(message)) << text;
  }
  EXPECT_THAT(refusal("grids", "\n\n"), HasSubstr("no example"));
  EXPECT_THAT(refusal("grids", std::string(40000, 'a') + "\n"), HasSubstr("more than 32768 positions per side"));
}

TEST(GridsReader, text_is_never_detected_as_grids) { EXPECT_NE(format_of("data", "abc\nabc\n\nabc\n"), "grids"); }

TEST(Examples, grid_examples_keep_shapes_in_subsets_and_concatenation) {
  const Examples all = read_as("grids", "ab\n\nc\nd\n\nefg\n");
  const Index chosen[] = {2, 0};
  EXPECT_EQ(subset(all, chosen).shapes, (GridShapes{{1, 3}, {1, 2}}));
  Examples both = all;
  append(both, read_as("grids", "z\n"));
  EXPECT_EQ(both.shapes, (GridShapes{{1, 2}, {2, 1}, {1, 3}, {1, 1}}));
  Examples other = all;
  Examples sequences = all;
  sequences.shapes.clear();
  EXPECT_THROW(append(other, sequences), DataError);
}

}  // namespace
}  // namespace unfold
