#include "base/formats/toml.h"

#include <gtest/gtest.h>

#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::message_of;

template <class T>
const T& value_in(const TomlTable& table, std::size_t i) {
  return std::get<T>(table.at(i).value.value);
}

TEST(Toml, values_keep_order_type_and_line) {
  const TomlTable table = parse_toml(
      "b = 1\na = [\"x\",\n  {c = 0.5, a = true}]\n\n[[t]]\nd = 'text'\n[t.sub]\n[[t]]\nd = 1979-05-27\n", "t.toml");
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0].key, "b");
  EXPECT_EQ(value_in<Index>(table, 0), 1);
  const TomlList& list = value_in<TomlList>(table, 1);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(std::get<std::string>(list[0].value), "x");
  EXPECT_EQ(list[1].line, 3);
  const TomlTable& inline_table = std::get<TomlTable>(list[1].value);
  EXPECT_EQ(inline_table[0].key, "c");
  EXPECT_EQ(value_in<double>(inline_table, 0), 0.5);
  EXPECT_EQ(value_in<bool>(inline_table, 1), true);
  const TomlList& tables = value_in<TomlList>(table, 2);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].line, 5);
  EXPECT_EQ(tables[1].line, 8);
  EXPECT_EQ(std::get<TomlTable>(tables[0].value)[0].line, 6);
  EXPECT_EQ(value_in<TomlTable>(std::get<TomlTable>(tables[0].value), 1).size(), 0u);
  EXPECT_TRUE(std::holds_alternative<TomlDate>(std::get<TomlTable>(tables[1].value)[0].value.value));
}

TEST(Toml, syntax_errors_name_file_and_line) {
  EXPECT_EQ(message_of<UsageError>([] { parse_toml("a = 1\n\nb = \n", "t.toml"); }).find("t.toml:3: "), 0u);
  EXPECT_EQ(message_of<UsageError>([] { parse_toml(std::string(2'000'000, ' '), "t.toml"); }).find("t.toml:1: "), 0u);
}

}  // namespace
}  // namespace unfold
