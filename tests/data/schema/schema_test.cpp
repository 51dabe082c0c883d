#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "data/counts/distinct_count.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/inference/recent_texts.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Texts = std::vector<std::string>;

/// A header and rows with columns of every type.
struct MixedTable {
  std::string header = "when,load,price,kind,note,id,class,unit,none\n";
  Texts rows;

  explicit MixedTable(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      rows.push_back("2024-" + std::string(i % 12 < 9 ? "0" : "") + std::to_string(i % 12 + 1) + "-" +
                     std::to_string(10 + i % 18) + "," + std::to_string(i * 37 % 101) + "." + std::to_string(i % 10) +
                     ",\"" + std::to_string(1 + i % 9) + "," + std::to_string(100 + i * 13 % 900) + "\"," +
                     (i % 3 == 0 ? "a" : "b") + ",the note of row " + n + ",u" + n + "," + std::to_string(i % 4) +
                     ",kW,\n");
    }
  }
  std::string text() const {
    std::string result = header;
    for (const std::string& row : rows) result += row;
    return result;
  }
};

Texts types_of(const TableSchema& schema) {
  Texts types;
  for (const ColumnSchema& column : schema.columns) {
    types.push_back(column.name + ":" + type_name(column.type) + ":" + role_name(column.role) + ":" +
                    std::to_string(column.missing) + ":" + std::to_string(column.distinct) + ":" +
                    std::to_string(column.odd));
  }
  return types;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t i = 0; (i = text.find(what, i)) != std::string::npos; i += by.size())
    text.replace(i, what.size(), by);
  return text;
}

/// The schema without the description of the bytes.
nlohmann::json columns_of(const std::string& text) { return to_json(infer_table_schema("data", text)).at("columns"); }

TEST(TableSchema, FindsTypesAndRolesOfAMixedTable) {
  const TableSchema schema = infer_table_schema("data", MixedTable(40).text());
  EXPECT_EQ(types_of(schema),
            (Texts{"when:date:read:0:36:0", "load:number:read:0:40:0", "price:integer:read:0:40:0",
                   "kind:category:read:0:2:0", "note:text:read:0:40:0", "id:identifier:left out:0:40:0",
                   "class:category:predicted:0:4:0", "unit:constant:left out:0:1:0", "none:empty:left out:40:0:0"}));
  EXPECT_EQ(schema.find("price")->least, 1100);
}

TEST(TableSchema, ShuffledRowsHaveTheSameTypes) {
  MixedTable table(40);
  const Texts expected = types_of(infer_table_schema("data", table.text()));
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    std::shuffle(table.rows.begin(), table.rows.end(), random);
    EXPECT_EQ(types_of(infer_table_schema("data", table.text())), expected);
  }
}

TEST(TableSchema, LineEndsAndByteOrderMarkDoNotChangeTheColumns) {
  const std::string text = MixedTable(30).text();
  const nlohmann::json expected = columns_of(text);
  EXPECT_EQ(columns_of(replaced(text, "\n", "\r\n")), expected);
  EXPECT_EQ(columns_of(replaced(text, "\n", "\r")), expected);
  EXPECT_EQ(columns_of("\xEF\xBB\xBF" + text), expected);
  EXPECT_EQ(columns_of("\xEF\xBB\xBF" + replaced(text, "\n", "\r\n")), expected);
  EXPECT_EQ(columns_of(text.substr(0, text.size() - 1)), expected);
}

TEST(TableSchema, PiecesOfAnySizeGiveTheSameSchema) {
  const std::string text = MixedTable(9000).text() + "2024-01-01,1.5,\"a\nb\",c,d,e,1,kW,\n";
  ASSERT_GT(text.size(), std::size_t{256} << 10);
  const nlohmann::json expected = to_json(infer_table_schema("data", text));
  for (const std::size_t size : {7U, 1000U, 65537U, 300000U}) {
    SchemaInference inference("data", {});
    for (std::size_t i = 0; i < text.size(); i += size) inference.add(std::string_view(text).substr(i, size));
    EXPECT_EQ(to_json(inference.finish()), expected) << size;
  }
}

TEST(TableSchema, AnUnclosedQuoteIsReadInBoundedMemory) {
  std::string text = "load,kind\n1.5,a\n2.5,\"b\n";
  while (text.size() < std::size_t{17} << 20) text += "3.5," + std::string(1000, 'a') + "\n";
  const TableSchema schema = infer_table_schema("data", text);
  EXPECT_EQ(schema.unclosed_quote, 3);
  EXPECT_EQ(schema.columns[0].type, ColumnType::number);
  EXPECT_EQ(schema.columns[0].odd, 0);
}

TEST(TableSchema, ManyDistinctValuesAreEstimated) {
  std::string text = "name,v\n";
  for (int i = 0; i < 50000; ++i) text += "the name " + std::to_string(i) + "," + std::to_string(i % 7) + ".5\n";
  const TableSchema schema = infer_table_schema("data", text);
  EXPECT_FALSE(schema.columns[0].distinct_exact);
  EXPECT_NEAR(static_cast<double>(schema.columns[0].distinct), 50000, 4000);
  EXPECT_EQ(schema.columns[0].type, ColumnType::text);
  EXPECT_TRUE(schema.columns[1].distinct_exact);
  EXPECT_EQ(schema.columns[1].distinct, 7);
}

TEST(TableSchema, OddCellsAreBoundedAndCounted) {
  std::string text = "x\n";
  for (int i = 0; i < 1000; ++i) text += i % 50 == 0 ? "odd" + std::to_string(i) + "\n" : std::to_string(i) + ".5\n";
  const TableSchema schema = infer_table_schema("data", text);
  ASSERT_EQ(schema.columns[0].type, ColumnType::number);
  EXPECT_EQ(schema.columns[0].odd, 20);
  EXPECT_EQ(schema.columns[0].odd_cells.size(), kMostOddCells);
  EXPECT_EQ(schema.columns[0].odd_cells[1].line, 52);
}

TEST(TableSchema, DescriptionNamesTypesRolesAndOddCells) {
  const std::string text = describe(infer_table_schema("data", "t,load\n1,1.5\n2,2.5\n3,3.5*\n4,4.5\n5,1.5\n6,2.5\n"));
  EXPECT_EQ(
      text,
      "format    table of 6 rows and 2 columns, separated by commas\n"
      "header    yes: row 1 has the name \"t\" above numbers or dates\n"
      "lines     LF\n"
      "\n"
      "column  type        role        missing    odd  contents; examples; reasons\n"
      "t       identifier  order             0      0  6 distinct; 1 | 2 | 3; counts the rows; counts the rows and is "
      "named like a position\n"
      "load    number      predicted         0      1  1.5 to 4.5; 1.5 | 2.5 | 3.5*; numbers with a decimal point; "
      "a column of a series that is named like a quantity, from its earlier values\n"
      "        line 4: \"3.5*\" does not fit\n");
}

TEST(TableSchema, DescriptionOfManyColumnsContainsThePredictedOne) {
  std::string header, rows;
  for (int c = 0; c < 300; ++c) header += fmt::format("c{},", c);
  for (int r = 0; r < 20; ++r) {
    for (int c = 0; c < 300; ++c) rows += fmt::format("{}.5,", (7 * r + 13 * c * r) % 101);
    rows += r % 3 == 0 ? "yes\n" : "no\n";
  }
  const std::string text = describe(infer_table_schema("data", header + "label\n" + rows));
  EXPECT_NE(text.find("\nc199 "), std::string::npos);
  EXPECT_EQ(text.find("\nc200 "), std::string::npos);
  EXPECT_NE(text.find("\nlabel   category    predicted "), std::string::npos) << text;
  EXPECT_NE(text.find("\n... and 100 more columns; --json lists all\n"), std::string::npos);
}

/// Returns a table with a column of dates and one of the given cells, repeated in turn.
std::string dated_cells(const Texts& cells, char separator, bool dotted) {
  std::string text = std::string("day") + separator + "sales\n";
  for (int i = 0; i < 28; ++i) {
    text += dotted ? fmt::format("{:02}.03.2025", i + 1) : fmt::format("2025-03-{:02}", i + 1);
    text += separator + cells[static_cast<std::size_t>(i) % cells.size()] + "\n";
  }
  return text;
}

std::string notes_of(const TableSchema& schema) {
  std::string notes;
  for (const std::string& note : schema.notes)
    if (note.find("point") != std::string::npos) notes += note + "\n";
  return notes;
}

/// Returns a table of months with a point and amounts with decimal commas, some of them with a minus behind.
std::string months_with_points(const std::string& name) {
  std::string text = name + ";Ergebnis\n";
  for (int m = 0; m < 24; ++m)
    text += fmt::format("{:02}.{};{}.{}37,5{}{}\n", m % 12 + 1, 2016 + m / 12, 1 + m % 3, 1 + m % 7, m % 10,
                        m % 2 == 0 ? "-" : "");
  return text;
}

TEST(TableSchema, MonthsWithPointsAreNotNumbers) {
  for (const char* name : {"Period", "P"}) {
    const TableSchema schema = infer_table_schema("data", months_with_points(name));
    EXPECT_EQ(schema.columns[0].type, ColumnType::date) << name;
    EXPECT_EQ(schema.columns[0].date_format, DateFormat::year_month);
    EXPECT_EQ(schema.columns[0].step.name, "monthly");
    EXPECT_EQ(schema.columns[0].odd, 0);
    EXPECT_NE(schema.columns[0].type_reason.find("=number"), std::string::npos) << schema.columns[0].type_reason;
    EXPECT_EQ(schema.columns[1].type, ColumnType::number);
    EXPECT_EQ(schema.columns[1].convention.decimal, DecimalMark::comma);
    EXPECT_LT(schema.columns[1].least.value_or(0), -1000);
    EXPECT_TRUE(schema.notes.empty());
  }
  const SchemaOptions numbers{.types = {{"P", {ColumnType::number, {}, {}}}}};
  EXPECT_EQ(infer_table_schema("data", months_with_points("P"), numbers).columns[0].type, ColumnType::number);
}

TEST(TableSchema, NumbersLikeMonthsAreNumbers) {
  // Without leading zeros, with other entries, or with a month that does not exist.
  for (const char* cells : {"10.2016\n11.2016\n12.2016\n", "01.2016\n02.2016\n3.5\n", "01.2016\n13.2016\n02.2016\n",
                            "01.2016\n02.2016\n01.9999\n"})
    EXPECT_NE(infer_table_schema("data", std::string("value\n") + cells).columns[0].type, ColumnType::date) << cells;
}

TEST(TableSchema, WeeksOfAYearAreNotMonths) {
  const std::string cells = "\n01/2021;1\n02/2021;2\n03/2021;3\n04/2021;5\n";
  EXPECT_EQ(infer_table_schema("data", "Monat;x" + cells).columns[0].type, ColumnType::date);
  EXPECT_NE(infer_table_schema("data", "KW;x" + cells).columns[0].type, ColumnType::date);
}

TEST(TableSchema, ClassInTheFirstColumnOfUnnamedNumbersIsNoted) {
  const auto rows = [](const char* header) {
    std::string text = header;
    for (int r = 0; r < 20; ++r) {
      text += std::to_string(r % 2 + 1);
      for (int c = 0; c < 12; ++c) text += fmt::format("\t{}.{}5", r * 7 % 5 - 2, (r * 13 + c * 5) % 10);
      text += "\n";
    }
    return infer_table_schema("data", text);
  };
  const auto suggests = [](const TableSchema& schema) {
    return std::ranges::any_of(
        schema.notes, [](const std::string& note) { return note.find("--predict 1=softmax") != std::string::npos; });
  };
  EXPECT_TRUE(suggests(rows("")));
  EXPECT_FALSE(suggests(rows("c\td1\td2\td3\td4\td5\td6\td7\td8\td9\td10\td11\td12\n")));
}

TEST(PointGroups, AreThousandsWhereTheTableIsContinental) {
  struct Case {
    Texts cells;
    char separator;
    bool dotted, thousands, noted;
  };
  const std::vector<Case> cases = {
      {{"1.083", "966", "1.099"}, ';', true, true, true},    // German spreadsheet
      {{"5.040", "0", "38.160"}, ';', true, true, true},     //
      {{"1.083", "966", "1.099"}, ',', true, true, true},    // one mark, integers of three digits
      {{"1.083", "966", "1.099"}, ';', false, true, true},   //
      {{"-1.083", "12", "1.099"}, ';', true, true, true},    //
      {{"1.234.567", "12.345"}, ',', false, true, true},     // no decimal number has two points
      {{"1.083", "12", "1.099"}, ';', false, false, true},   // one mark, small integers
      {{"1.083", "2.099"}, ';', true, false, true},          // no integers
      {{"1.083", "966", "1.099"}, ',', false, false, true},  // a jump by a factor of 1000
      {{"1.250", "2.500", "1.125"}, ',', false, false, false},
      {{"1.250", "3", "1.125"}, ',', false, false, false},
      {{"1.250", "0.125", "3"}, ';', true, false, false},   // 0.125 has a decimal point
      {{"1.250", "12.5", "966"}, ';', true, false, false},  // and 12.5
      {{"1.250", "1966", "966"}, ';', true, false, false},  // thousands without a separator
  };
  for (const Case& one : cases) {
    const std::string text = dated_cells(one.cells, one.separator, one.dotted);
    const TableSchema schema = infer_table_schema("data.csv", text, {});
    const ColumnSchema& sales = schema.columns.at(1);
    EXPECT_EQ(sales.convention.thousands == ThousandsMark::point, one.thousands) << text;
    EXPECT_EQ(!notes_of(schema).empty(), one.noted) << text << notes_of(schema);
    if (!one.noted) continue;
    EXPECT_NE(notes_of(schema).find(one.thousands ? "use --decimal point" : "use --thousands point"), std::string::npos)
        << notes_of(schema);
  }
}

TEST(PointGroups, OptionsDecideWithoutANote) {
  const std::string text = dated_cells({"1.083", "966", "1.099"}, ';', true);
  const TableSchema decimal = infer_table_schema("data.csv", text, {.decimal = DecimalMark::point});
  EXPECT_EQ(decimal.columns.at(1).least, 1.083);
  EXPECT_EQ(notes_of(decimal), "");
  const std::string doubtful = dated_cells({"1.083", "2.099"}, ';', true);
  const TableSchema thousands = infer_table_schema("data.csv", doubtful, {.thousands = ThousandsMark::point});
  EXPECT_EQ(thousands.columns.at(1).least, 1083);
  EXPECT_EQ(notes_of(thousands), "");
}

TEST(PointGroups, OneColumnDecidesForTheOthers) {
  std::string text = "day;units;sales\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{:02}.03.2025;{};2.{:03}\n", i + 1, i == 3 ? "840" : "1.083", i);
  const TableSchema schema = infer_table_schema("data.csv", text, {});
  EXPECT_EQ(schema.columns.at(1).most, 1083);
  EXPECT_EQ(schema.columns.at(2).most, 2019);
  EXPECT_NE(notes_of(schema).find("columns \"units\", \"sales\""), std::string::npos) << notes_of(schema);
}

TEST(EscapeCell, ControlCharactersAndUndecodableBytesAreEscaped) {
  EXPECT_EQ(escape_cell("a\x1B[31mb\n\t\\ \x7F", 80), "a\\u{1b}[31mb\\n\\t\\\\ \\u{7f}");
  EXPECT_EQ(escape_cell("caf\xE9 caf\xC3\xA9", 80), "caf\\xe9 caf\xC3\xA9");
  EXPECT_EQ(escape_cell("\xC2\x9B\xE2\x80\xAE", 80), "\\u{9b}\\u{202e}");
  EXPECT_EQ(escape_cell("abcdef", 3), "abc...");
}

TEST(SchemaOptions, SpellingsAreParsedAndMistakesNamed) {
  const auto types = parse_column_types("zip=category,a=b=number,when=date:MM/DD/YYYY,t=words");
  EXPECT_EQ(types.at("zip").type, ColumnType::category);
  EXPECT_EQ(types.at("a=b").type, ColumnType::number);
  EXPECT_EQ(types.at("when").date_format, DateFormat::month_day_year);
  EXPECT_EQ(types.at("t").unit, TextUnit::words);
  EXPECT_THROW(parse_column_types("zip"), UsageError);
  EXPECT_THROW(parse_column_types("zip=date:Y"), UsageError);
  EXPECT_THROW(parse_column_types("zip=text,zip=date"), UsageError);
  EXPECT_EQ(parse_thousands_mark("space"), ThousandsMark::space);
  EXPECT_THROW(parse_decimal_mark("coma"), UsageError);
  EXPECT_FALSE(parse_header("no"));
}

RC_GTEST_PROP(DistinctCount, IsExactWithinItsBoundAndOrderFreeBeyond, (std::vector<std::uint64_t> values)) {
  DistinctCount forward(8), backward(8), exact(1 << 20);
  for (const std::uint64_t v : values) forward.add(hash_of_cell(std::to_string(v)));
  std::reverse(values.begin(), values.end());
  for (const std::uint64_t v : values) {
    backward.add(hash_of_cell(std::to_string(v)));
    exact.add(hash_of_cell(std::to_string(v)));
  }
  RC_ASSERT(forward.count() == backward.count());
  std::sort(values.begin(), values.end());
  const auto distinct = std::unique(values.begin(), values.end()) - values.begin();
  RC_ASSERT(exact.count() == distinct);
  RC_ASSERT(forward.exact() == (distinct <= 8));
}

RC_GTEST_PROP(TextTraits, EqualThoseOfAPlainLoop, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(" \t\nab/09:\xB9\xC3")));
  Index words = 0;
  bool blanks = false, digits = false, before = true;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    words += before && !blank ? 1 : 0;
    blanks = blanks || blank;
    digits = digits || (c >= '0' && c <= '9');
    before = blank;
  }
  const TextTraits traits = text_traits(text);
  RC_ASSERT(traits.words == words);
  RC_ASSERT(traits.blanks == blanks);
  RC_ASSERT(traits.digits == digits);
  RC_ASSERT(traits.code == (digits && !blanks && text.size() <= 64));
}

/// For any bytes: either a documented error, or a schema whose rows add up.
RC_GTEST_PROP(TableSchema, AnyBytesHaveASchemaOrAnError, (const std::vector<std::uint8_t>& choices)) {
  const Texts pieces = {",",   ";", "\t", "\n",         "\r", "\r\n", "\"",  "1",
                        "2.5", "a", " ",  "2024-01-01", "-",  "\x1B", "\xFF"};
  std::string text;
  for (const std::uint8_t c : choices) text += pieces[c % pieces.size()];
  try {
    const TableSchema schema = infer_table_schema("data", text);
    for (const ColumnSchema& column : schema.columns) {
      RC_ASSERT(column.rows == schema.rows);
      RC_ASSERT(column.missing >= 0 && column.missing <= column.rows);
      RC_ASSERT(column.odd >= 0 && column.odd <= column.entries());
      RC_ASSERT(column.distinct >= 0 && column.distinct <= column.rows);
    }
    RC_ASSERT(!to_json(schema).dump().empty());
  } catch (const DataError&) {
  }
}

/// A table whose columns "a", "b" and "result" are related, written to two digits. `coefficient`: of an autoregression,
/// 0 for independent rows. `sorts`: the rows are sorted by "a".
std::string related_columns(Index rows, double coefficient, bool sorts, std::uint64_t seed) {
  Random random(seed, "table");
  std::vector<std::array<double, 3>> table(at(rows));
  std::array<double, 3> last = {};
  for (std::array<double, 3>& row : table) {
    const double shared = random.normal();
    for (std::size_t c = 0; c < 3; ++c) row[c] = last[c] = coefficient * last[c] + shared + random.normal();
  }
  if (sorts) std::ranges::sort(table);
  std::string text = "a,b,result\n";
  for (const std::array<double, 3>& row : table) text += fmt::format("{:.2f},{:.2f},{:.2f}\n", row[0], row[1], row[2]);
  return text;
}

/// Returns how many of 200 tables are read as independent rows.
Index independent_tables(Index fewest_rows, double coefficient, bool sorts) {
  Index count = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Index rows = fewest_rows + static_cast<Index>(seed % 100);
    count += infer_table_schema("table", related_columns(rows, coefficient, sorts, seed)).independent_rows ? 1 : 0;
  }
  return count;
}

/// A table whose column "result" is an autoregression plus the effect of the columns "a" and "b", which have no order.
std::string driven_series(Index rows, std::uint64_t seed) {
  Random random(seed, "table");
  std::string text = "a,b,result\n";
  double last = 0;
  for (Index r = 0; r < rows; ++r) {
    const double a = random.normal(), b = random.normal();
    last = 0.9 * last + random.normal();
    text += fmt::format("{:.2f},{:.2f},{:.2f}\n", a, b, 2 * a - 3 * b + last);
  }
  return text;
}

TEST(IndependentRows, SeriesBelowTheEffectOfOtherColumnsAreRecognized) {
  Index independent = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    independent += infer_table_schema("table", driven_series(200, seed)).independent_rows ? 1 : 0;
  EXPECT_LE(independent, 5);
}

/// A table of examples that was put together from groups with different means: some columns depend on the preceding
/// row.
TEST(IndependentRows, SimilarNeighborsInSomeColumnsAreStated) {
  Random random(3, "table");
  std::string text = "a,b,c,d,e,result\n";
  double level = 0;
  for (Index r = 0; r < 300; ++r) {
    if (r % 10 == 0) level = 4 * random.normal();
    const double a = random.normal(), b = random.normal(), c = random.normal(), d = random.normal(),
                 e = random.normal();
    text += fmt::format("{:.2f},{:.2f},{:.2f},{:.2f},{:.2f},{:.2f}\n", a, b, c, d + level, e, a + b + d + level);
  }
  const TableSchema schema = infer_table_schema("table", text);
  EXPECT_TRUE(schema.independent_rows);
  EXPECT_NE(schema.rows_reason.find("although some neighbors are similar"), std::string::npos) << schema.rows_reason;
}

TEST(IndependentRows, FewTablesAreMistaken) {
  EXPECT_GE(independent_tables(20, 0, false), 196);
  EXPECT_GE(independent_tables(20, 0, true), 190);
  EXPECT_LE(independent_tables(60, 0.8, false), 4);
}

}  // namespace
}  // namespace unfold
