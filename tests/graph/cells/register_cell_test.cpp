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

TEST(RegisterCell, output_of_the_wrong_size_or_circuit_is_rejected) {
  register_cell("wide-test", [](Circuit& c, Signal x, Index n) { return c.affine("z", n + 1, {{"W", x}}); });
  static Circuit other;
  register_cell("foreign-test", [](Circuit&, Signal, Index n) { return other.input("y", n); });
  Circuit c;
  const Signal x = c.input("x", 3);
  const auto message = [&](const char* name) -> std::string {
    const CellEntry& cell = cells().get(name);
    try {
      cell.add(c, x, 4, cell.options, false);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message("wide-test"),
            "cell wide-test: the function returned a signal of size 5 for 4 units; the output must have one component "
            "per unit");
  EXPECT_NE(message("foreign-test").find("must return a signal of the circuit"), std::string::npos);
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
