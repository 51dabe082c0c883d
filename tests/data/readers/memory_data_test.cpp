#include "data/readers/memory_data.h"

#include <gtest/gtest.h>

#include "data/schema/table_schema.h"
#include "data/text/example_weights.h"
#include "tests/support/reading.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using namespace testing_support;

Examples table_in_memory(std::vector<ExampleColumn> columns, const ReaderOptions& options = {}) {
  MemoryData data{.format = "table", .examples = {.source = "memory"}};
  data.examples.ends = {columns.front().entries()};
  data.examples.columns = std::move(columns);
  return take_examples(data, options);
}

ExampleColumn texts(const char* name, Texts entries) { return {.name = name, .texts = std::move(entries)}; }
ExampleColumn numbers(const char* name, Numbers entries) {
  return {.name = name, .width = 1, .numbers = std::move(entries)};
}

TEST(MemoryData, a_table_is_read_like_a_file) {
  const Examples file = read_as("table",
                                "when,user_id,amount,kind\n2024-01-03,a,1.5,x\n2024-01-01,b,,y\n2024-01-02,a,2,x\n"
                                "2024-01-04,b,1.234,y\n2024-01-05,a,7,x\n2024-01-06,b,8,y\n");
  ExampleColumn amount = numbers("amount", {1.5, 0, 2, 1.234, 7, 8});
  amount.missing = {0, 1, 0, 0, 0, 0};
  const Examples memory = table_in_memory(
      {texts("when", {"2024-01-03", "2024-01-01", "2024-01-02", "2024-01-04", "2024-01-05", "2024-01-06"}),
       texts("user_id", {"a", "b", "a", "b", "a", "b"}), amount, texts("kind", {"x", "y", "x", "y", "x", "y"})});
  ASSERT_EQ(file.count(), 2);
  EXPECT_EQ(memory.ends, file.ends);
  EXPECT_EQ(names_of(memory), names_of(file));
  for (const ExampleColumn& column : file.columns) {
    EXPECT_EQ(memory.column(column.name).texts, column.texts) << column.name;
    EXPECT_EQ(memory.column(column.name).numbers, column.numbers) << column.name;
    EXPECT_EQ(memory.column(column.name).missing, column.missing) << column.name;
  }
  EXPECT_EQ(memory.lines, (Indices{3, 1, 5, 2, 4, 6}));
}

TEST(MemoryData, weights_belong_to_the_rows_of_a_table) {
  const auto read = [](RowMeaning rows, BadRows bad_rows) {
    ReaderOptions options;
    options.schema.rows = rows;
    options.schema.bad_rows = bad_rows;
    options.schema.predict = {"kind"};
    options.schema.types["day"] = {.type = ColumnType::date, .unit = {}, .date_format = {}};
    return table_in_memory(
        {texts("day", {"2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "soon", "2024-01-06"}),
         numbers("size", {5, 2, 4, 1, 3, 6}), numbers(kExampleWeights, {1, 2, 3, 0, 5, 6}),
         texts("kind", {"x", "y", "x", "y", "x", "y"})},
        options);
  };
  const Examples examples = read(RowMeaning::independent, BadRows::skip);
  EXPECT_EQ(examples.count(), 5);
  EXPECT_EQ(examples.schema->find(kExampleWeights), nullptr);
  EXPECT_TRUE(column_of(examples, kExampleWeights).once);
  EXPECT_EQ(column_of(examples, kExampleWeights).numbers, (Numbers{1, 2, 3, 0, 6}));
  EXPECT_THROW(read(RowMeaning::sequence, BadRows::skip), UsageError);
}

TEST(MemoryData, texts_of_a_table_never_become_numbers) {
  const Examples examples = table_in_memory(
      {texts("size", {"10", "12", "11", "10", "12", "10"}), texts("label", {"1", "0", "1", "0", "1", "0"}),
       texts("row", {"0", "1", "2", "3", "4", "5"}), texts("one", {"7", "7", "7", "7", "7", "7"})});
  for (const ExampleColumn& column : examples.columns) EXPECT_TRUE(column.is_text()) << column.name;
  EXPECT_FALSE(column_of(examples, "label").integers);
  ReaderOptions options;
  options.numbers = {"size"};
  EXPECT_EQ(
      column_of(table_in_memory({texts("size", {"10", "12"}), texts("kind", {"a", "b"})}, options), "size").numbers,
      (Numbers{10, 12}));
}

TEST(MemoryData, numbers_of_a_table_have_a_decimal_point) {
  ReaderOptions options;
  options.schema.decimal = DecimalMark::comma;
  const Examples examples =
      table_in_memory({numbers("x", {1.234, 2.345, 3.456}), texts("y", {"1,5", "2,5", "3,5"})}, options);
  EXPECT_EQ(column_of(examples, "x").numbers, (Numbers{1.234, 2.345, 3.456}));
}

TEST(MemoryData, rows_with_a_text_are_examples) {
  Texts sentences, labels;
  for (int i = 0; i < 30; ++i) {
    sentences.push_back("sentence number " + std::to_string(i));
    labels.push_back(i % 2 == 0 ? "a" : "b");
  }
  const Examples examples = table_in_memory({texts("text", sentences), texts("label", labels)});
  EXPECT_EQ(examples.count(), 30);
  EXPECT_TRUE(column_of(examples, "label").once);
}

TEST(MemoryData, unknown_columns_of_options_are_named) {
  ReaderOptions options;
  options.sequence_column = "unit";
  EXPECT_THROW(table_in_memory({numbers("x", {1, 2, 3})}, options), UsageError);
}

}  // namespace
}  // namespace unfold
