// Cells that a program registers.
#include "unfold/graph/cells/register_cell.h"

#include <gtest/gtest.h>

#include "unfold/base/error.h"
#include "unfold/graph/cells/registry.h"

namespace unfold {
namespace {

Signal registered_cell(Circuit& c, Signal x, Index n) {
  const Signal h = c.link(n);
  const Signal next = tanh(c.affine("z", n, {{"W", x}, {"U", h}}));
  c.feed(h, next);
  return next;
}

TEST(RegisterCell, registered_cell_is_found_without_moving_existing_ones) {
  const CellEntry* const lstm = cells().find("lstm");
  ASSERT_EQ(cells().find("of-this-test"), nullptr);
  register_cell("of-this-test", registered_cell);
  EXPECT_EQ(lstm->name, "lstm");
  const CellEntry& mine = cells().get("of-this-test");
  Circuit c;
  EXPECT_EQ(mine.add(c, c.input("x", 3), 5, mine.options, false).size(), 5);
  EXPECT_EQ(c.parameters().size(), 3U);
}

TEST(RegisterCell, duplicate_and_invalid_cell_names_are_rejected) {
  EXPECT_THROW(register_cell("lstm", registered_cell), UsageError);
  EXPECT_THROW(register_cell("bilstm", registered_cell), UsageError);  // an lstm in both directions
  EXPECT_THROW(register_cell("without-a-function", CellFunction()), UsageError);
  for (const char* name : {"", "3", "My", "a:b", "a,b", "-a"})
    EXPECT_THROW(register_cell(name, registered_cell), UsageError) << name;
}

}  // namespace
}  // namespace unfold
