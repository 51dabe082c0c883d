#include "data/text/labels.h"

#include <gtest/gtest.h>

#include "unfold/base/error.h"

namespace unfold {
namespace {

TEST(Labels, first_column_labels_are_removed_from_the_text) {
  const auto [text, labels] = split_labels(Input::from_bytes("log", "- all is well\r\nBAD  it broke\n- fine\nODD"));
  EXPECT_EQ(text.bytes(), "all is well\r\nit broke\nfine\n");
  EXPECT_EQ(labels, (std::vector<std::string>{"-", "BAD", "-", "ODD"}));
}

TEST(Labels, byte_order_mark_is_not_part_of_the_first_label) {
  const auto [text, labels] = split_labels(Input::from_bytes("log", "\xEF\xBB\xBF- a\nBAD b\n"));
  EXPECT_EQ(text.bytes(), "a\nb\n");
  EXPECT_EQ(labels.front(), "-");
  EXPECT_EQ(read_labels(Input::from_bytes("l", "\xEF\xBB\xBF-\n")).front(), "-");
}

TEST(Labels, lines_with_other_labels_are_skipped) {
  const auto [text, labels] = split_labels(Input::from_bytes("log", "- a\nBAD b\n- c"), "-");
  EXPECT_EQ(text.bytes(), "a\nc");
  EXPECT_EQ(labels.size(), 2u);
  EXPECT_THROW(split_labels(Input::from_bytes("log", "- a\n"), "BAD"), DataError);
}

TEST(Labels, line_without_a_label_is_an_error) {
  EXPECT_THROW(split_labels(Input::from_bytes("log", "- a\n\n- c\n")), DataError);
  EXPECT_THROW(split_labels(Input::from_bytes("log", " a\n")), DataError);
}

TEST(Labels, label_file_has_one_label_per_line) {
  EXPECT_EQ(read_labels(Input::from_bytes("l", "-\n BAD \r\n0")), (std::vector<std::string>{"-", "BAD", "0"}));
  EXPECT_THROW(read_labels(Input::from_bytes("l", "-\n\n0\n")), DataError);
}

}  // namespace
}  // namespace unfold
