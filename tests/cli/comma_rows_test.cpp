#include "cli/terminal/comma_rows.h"

#include <gtest/gtest.h>

namespace unfold {
namespace {

TEST(CommaRows, quotes_only_cells_that_need_it) {
  CommaRows rows;
  EXPECT_EQ(rows.next("name\tvalue\n"), "name,value\n");
  EXPECT_EQ(rows.next("a,b\t1\nsay \"so\"\t\n"), "\"a,b\",1\n\"say \"\"so\"\"\",\n");
  EXPECT_EQ(rows.next("a\\tb\tc\\\\t\n"), "a\tb,c\\t\n");
  EXPECT_EQ(rows.next("two\\nlines\t\\r\n\n"), "\"two\nlines\",\"\r\"\n\n");
  EXPECT_EQ(rows.finish(), "");
}

TEST(CommaRows, rows_may_arrive_in_pieces) {
  const std::string all = "name\tvalue\na,b\\n\t1\n\nx\ty";
  CommaRows once;
  std::string expected = once.next(all);
  expected += once.finish();
  EXPECT_EQ(expected, "name,value\n\"a,b\n\",1\n\nx,y");
  for (std::size_t size = 1; size < all.size(); ++size) {
    CommaRows rows;
    std::string found;
    for (std::size_t begin = 0; begin < all.size(); begin += size) found += rows.next(all.substr(begin, size));
    EXPECT_EQ(found + rows.finish(), expected) << size;
  }
}

TEST(CommaRows, ending_of_a_name_shows_csv) {
  EXPECT_TRUE(is_csv_name("out/answers.csv"));
  EXPECT_TRUE(is_csv_name("ANSWERS.CSV"));
  EXPECT_FALSE(is_csv_name("csv"));
  EXPECT_FALSE(is_csv_name("answers.tsv"));
  EXPECT_FALSE(is_csv_name("-"));
}

}  // namespace
}  // namespace unfold
