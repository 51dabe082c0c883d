#include "base/options/shell_argument.h"

#include <gtest/gtest.h>

namespace unfold::test {
namespace {

TEST(ShellArgument, PlainTextsAreUnchanged) {
  for (const char* text : {"price", "--types", "a=number,b=date:DD/MM/YYYY", "Größe", "x.lower"})
    EXPECT_EQ(shell_argument(text), text);
}

TEST(ShellArgument, OtherTextsAreQuoted) {
  EXPECT_EQ(shell_argument("Erstellt am"), "'Erstellt am'");
  EXPECT_EQ(shell_argument(""), "''");
  EXPECT_EQ(shell_argument("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_argument("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace unfold::test
