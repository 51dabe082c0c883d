#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "data/readers/open_quotes.h"
#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

TEST(TableReader, header_names_number_and_text_columns) {
  const Examples examples = read_as("table", "\xEF\xBB\xBFtime,load,kind\r\n1,2.5,a\r\n2,,\"b, c\"\r\n");
  EXPECT_EQ(names_of(examples), (Texts{"time", "load", "kind"}));
  EXPECT_EQ(column_of(examples, "time").numbers, (Numbers{1, 2}));
  EXPECT_EQ(column_of(examples, "load").missing, (Flags{0, 1}));
  EXPECT_EQ(entries_of(examples, "kind"), (Texts{"a", "b, c"}));
  EXPECT_EQ(examples.ends, Indices{2});
  EXPECT_EQ(examples.lines, (Indices{2, 3}));
}

TEST(TableReader, without_a_header_columns_are_numbered) {
  const Examples examples = read_as("table", "1;a\n2;b\n");
  EXPECT_EQ(names_of(examples), (Texts{"1", "2"}));
  EXPECT_EQ(examples.positions(), 2);
  EXPECT_EQ(names_of(read_as("table", "x\tfilm\ny\tbook\nx\tsong\n")), (Texts{"1", "2"}));
  EXPECT_EQ(names_of(read_as("table", "kind\ttitle\ny\tbook\nx\tsong\n")), (Texts{"kind", "title"}));
}

TEST(TableReader, a_header_may_have_a_cell_without_a_name) {
  EXPECT_EQ(names_of(read_as("table", ",load,day\n0,1.5,mon\n1,2.5,tue\n")), (Texts{"1", "load", "day"}));
  EXPECT_EQ(names_of(read_as("table", ",text,label\n0,good fun,pos\n1,dull,neg\n")), (Texts{"1", "text", "label"}));
  EXPECT_EQ(names_of(read_as("table", "load,day,\n1,mon,\n2,tue,\n")), (Texts{"load", "day", "3"}));
  EXPECT_EQ(names_of(read_as("table", ",\"load\"\n,1\n,2\n")), (Texts{"1", "load"}));
}

TEST(TableReader, first_row_of_missing_values_is_not_a_header) {
  for (const char* file : {",3\n1,2\n", ",\n1,2\n", "NA,?\n1,2\n", ",mon\n1,tue\n2,wed\n", "?,mon\n1,tue\n2,wed\n",
                           "NA,mon\n0,tue\n1,wed\n", ",a\nx,b\ny,c\n", ",mon\n0,mon\n1,tue\n"}) {
    const Examples examples = read_as("table", file);
    EXPECT_EQ(names_of(examples), (Texts{"1", "2"})) << file;
    EXPECT_EQ(examples.lines.front(), 1) << file;
  }
}

TEST(TableReader, first_row_is_a_header_if_declared) {
  EXPECT_EQ(names_of(read_as("table", ",load\n7,\n", {.headed = true})), (Texts{"1", "load"}));
  EXPECT_EQ(names_of(read_as("table", "load,note\n,note\n", {.headed = true})), (Texts{"load", "note"}));
}

TEST(TableReader, quotes_hold_separators_line_ends_and_quotes) {
  const Examples examples =
      read_as("table", "n,text\n1,\"two\nlines, \"\"quoted\"\"\"\n2, \"\" \n3,x \"y\" z\n", {.texts = {"text"}});
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"two\nlines, \"quoted\"", "", "x \"y\" z"}));
  EXPECT_EQ(examples.lines, (Indices{2, 4, 5}));
  EXPECT_TRUE(contains(refusal("table", "a,b\n1,\"x\n2,y\n"), "data: line 2: a quote is not closed"));
  EXPECT_TRUE(contains(refusal("table", "a,b\n1,\"x\"y\n"), "data: line 2: there is text after a closing quote"));
}

TEST(TableReader, one_number_per_line_becomes_the_column_value) {
  const Examples examples = read_as("table", "  86 \r\n 141\r\n+9.5e1\n\n");
  EXPECT_EQ(names_of(examples), Texts{"value"});
  EXPECT_EQ(column_of(examples, "value").numbers, (Numbers{86, 141, 95}));
  EXPECT_EQ(names_of(read_as("table", "load\n1\n2\n")), Texts{"load"});
}

TEST(TableReader, bad_rows_are_skipped_and_counted) {
  std::string text = "t,load,kind\n";
  for (int i = 0; i < 30; ++i)
    text += i == 3    ? "3,off,a\n"
            : i == 5  ? "5,2.5\n"
            : i == 20 ? "x20,1.5,b\n"
                      : std::to_string(i) + "," + std::to_string(i % 5) + ".5," + (i % 2 == 0 ? "a\n" : "b\n");
  EXPECT_TRUE(contains(refusal("table", text), "3 places cannot be read:"));
  ReaderOptions options;
  options.schema.bad_rows = BadRows::skip;
  const Examples examples = read_as("table", text, options);
  EXPECT_EQ(examples.positions(), 27);
  EXPECT_EQ(column_of(examples, "load").numbers.size(), 27U);
  EXPECT_EQ(column_of(examples, "t").numbers[3], 4);
  EXPECT_EQ(entries_of(examples, "kind").size(), 27U);
  EXPECT_EQ(examples.lines[3], 6);
  EXPECT_TRUE(std::ranges::any_of(examples.remarks, [](const std::string& remark) {
    return contains(remark,
                    "3 of 30 rows are skipped: line 5, column load: \"off\"; line 7: 2 cells instead of 3; line 22, "
                    "column t: \"x20\"");
  }));
}

TEST(TableReader, missing_spellings_are_accepted_and_infinity_is_refused) {
  const Examples examples = read_as("table", "x,y\n1,1\nNA,2\nnan,3\n?,4\n,5\n-1,6\n");
  EXPECT_EQ(column_of(examples, "x").missing, (Flags{0, 1, 1, 1, 1, 0}));
  EXPECT_EQ(column_of(examples, "x").numbers, (Numbers{1, 0, 0, 0, 0, -1}));
  EXPECT_TRUE(contains(refusal("table", "x,y\n1,2\n-inf,3\n"), "data: line 3: \"-inf\" in column x is not finite"));
  EXPECT_TRUE(contains(refusal("table", "x,y\n1,2\n1e999,3\n"), "is not finite"));
  EXPECT_EQ(column_of(read_as("table", "x,y\n1,2\n1e-999,3\n"), "x").numbers, (Numbers{1, 0}));
}

TEST(TableReader, WordsForMissingValuesAreMissingInEveryColumnAndMarksOnlyAmongNumbers) {
  const Examples examples = read_as("table", "x,y\n1,NA\n2,?\n3,\n4,b\n");
  EXPECT_EQ(entries_of(examples, "y"), (Texts{"NA", "?", "", "b"}));
  EXPECT_EQ(column_of(examples, "y").missing, (Flags{1, 0, 1, 0}));
}

TEST(TableReader, empty_column_is_missing_everywhere) {
  const Examples examples = read_as("table", "x,y\n1,NA\n2,?\n3,\n");
  EXPECT_EQ(column_of(examples, "y").missing, (Flags{1, 1, 1}));
}

TEST(TableReader, declared_column_types_are_used) {
  const std::string file = "x,y,z\n1,0,NA\n2,1,\n";
  const Examples examples = read_as("table", file, {.texts = {"y"}, .numbers = {"z"}});
  EXPECT_EQ(entries_of(examples, "y"), (Texts{"0", "1"}));
  EXPECT_EQ(column_of(examples, "z").width, 1);
  EXPECT_EQ(column_of(examples, "z").missing, (Flags{1, 1}));
  EXPECT_TRUE(contains(refusal("table", "x,y\n1,2\nb,3\n", {.numbers = {"x"}}),
                       "data: line 3: \"b\" in column x is not a number"));
}

TEST(TableReader, a_column_separates_sequences) {
  const Examples examples = read_as("table", "id,x\n7,1\n7,2\n8,3\n7,4\n", {.sequence_column = "id"});
  EXPECT_EQ(examples.ends, (Indices{3, 4}));  // rows of a sequence need not be neighbors
  EXPECT_EQ(examples.example_lines, (Indices{2, 4}));
  EXPECT_EQ(entries_of(examples, "id"), (Texts{"7", "8"}));
  EXPECT_TRUE(column_of(examples, "id").once);
  EXPECT_EQ(column_of(examples, "x").numbers, (Numbers{1, 2, 4, 3}));
  EXPECT_EQ(examples.lines, (Indices{2, 3, 5, 4}));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { read_as("table", "id,x\n7,1\n", {.sequence_column = "key"}); }),
                       "there is no column \"key\""));
  EXPECT_TRUE(contains(refusal("table", "id,x\n7,1\n,2\n", {.sequence_column = "id"}),
                       "data: line 3: column id, which identifies the sequence of the row, is empty"));
}

TEST(TableReader, ragged_row_is_rejected_with_both_counts) {
  const std::string message = refusal("table", "x,y\n1,2\n\n1,2,3\n");
  EXPECT_TRUE(contains(message, "data: line 4: 3 cells separated by commas, but line 1 has 2")) << message;
}

TEST(TableReader, ASecondColumnOfOneNameGetsANumberAndATableWithoutRowsIsRefused) {
  const Examples twice = read_as("table", "x,x\n1,2\n");
  EXPECT_EQ(names_of(twice), (Texts{"x", "x.2"}));
  EXPECT_TRUE(contains(twice.remarks.front(), "column 2 is renamed to \"x.2\""));
  EXPECT_TRUE(contains(refusal("table", "\n\n"), "data: it contains no examples"));
}

TEST(TableReader, utf_16_is_rejected_with_a_remedy) {
  const std::string little("l\0o\0a\0d\0,\0d\0a\0y\0\n\0001\0,\0002\0\n\0", 26);
  EXPECT_TRUE(contains(refusal("table", "\xFF\xFE" + little), "data is UTF-16"));
  EXPECT_TRUE(contains(refusal("table", "\xFF\xFE" + little), "iconv -f UTF-16 -t UTF-8"));
  EXPECT_TRUE(contains(refusal("table", little), "iconv -f UTF-16LE"));
  EXPECT_TRUE(contains(refusal("table", '\0' + little.substr(0, 25)), "iconv -f UTF-16BE"));
  EXPECT_TRUE(contains(refusal("table", "load\n1\n2\n3\n4\n" + std::string(9, '\0')), "a zero byte"));
}

std::string utf_16(std::u16string_view text, bool big) {
  std::string bytes;
  for (const char16_t c : text) {
    const char high = static_cast<char>(c >> 8), low = static_cast<char>(c & 0xFF);
    bytes += big ? high : low;
    bytes += big ? low : high;
  }
  return bytes;
}

TEST(TableReader, Utf16WithEmojiOrOtherScriptsIsRecognizedWithoutByteOrderMark) {
  std::u16string smiling, cyrillic = u"имя,число\n";
  for (int row = 0; row < 20; ++row) smiling += u"the text of a row,3,\U0001F600\n", cyrillic += u"слово,12\n";
  for (const std::u16string& text : {smiling, cyrillic}) {
    EXPECT_TRUE(contains(refusal("table", utf_16(text, true)), "iconv -f UTF-16BE -t UTF-8"));
    EXPECT_TRUE(contains(refusal("table", utf_16(text, false)), "iconv -f UTF-16LE -t UTF-8"));
  }
  const std::string zeros("name\0,1\nnames\0,2\nname\0,3\nnames\0,4\n", 34);
  EXPECT_TRUE(contains(refusal("table", zeros), "a zero byte"));
}

TEST(TableReader, real_tables_have_their_documented_shapes) {
  UNFOLD_REAL_DATA(wine, "density/winequality-red.csv");
  const Examples measured = read_examples(Input::open(wine), {});
  EXPECT_EQ(measured.positions(), 1599);
  EXPECT_EQ(measured.columns.size(), 12u);
  EXPECT_EQ(column_of(measured, "volatile acidity").numbers[0], 0.7);
  UNFOLD_REAL_DATA(laser, "timeseries/santafe_laser.txt");
  EXPECT_EQ(column_of(read_examples(Input::open(laser), {}), "value").entries(), 10093);
}

TEST(TableReader, CellsAreKeptAsTheyStoodWhereNumbersAreWrittenDifferently) {
  const Examples examples = read_as("table", "x,y\n\"1,200\",1\n2,2\nnull,3\n4.50,4\n");
  const ExampleColumn& x = column_of(examples, "x");
  EXPECT_EQ(x.numbers, (Numbers{1200, 2, 0, 4.5}));
  EXPECT_EQ(x.missing, (Flags{0, 0, 1, 0}));
  ASSERT_EQ(x.cells.size(), 4u);
  EXPECT_EQ(x.cells[0], "1,200");
  EXPECT_EQ(x.cells[2], "null");
  EXPECT_EQ(x.cells[3], "4.50");
  EXPECT_TRUE(column_of(examples, "y").cells.empty());
}

TEST(TableReader, ARowWithATextIsAnExampleOfWords) {
  const Examples examples = read_as("table", "text,label\na  b c,x\n\"d, e f\",y\n");
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"a", "b", "c", "d,", "e", "f"}));
  EXPECT_EQ(examples.ends, (Indices{3, 6}));
  EXPECT_EQ(examples.example_lines, (Indices{2, 3}));
  EXPECT_EQ(column_of(examples, "text").cells[0], "a  b c");
  EXPECT_TRUE(column_of(examples, "label").once);
}

TEST(TableReader, DatesGiveCalendarColumnsAndOrderTheRowsOfAGroup) {
  const Examples examples = read_as(
      "table",
      "user_id,when,x\na,2024-01-02 06:00,1\nb,2024-01-01 00:00,2\na,2024-01-01 18:00,3\nb,2024-01-01 01:00,4\n");
  EXPECT_EQ(column_of(examples, "x").numbers, (Numbers{3, 1, 2, 4}));
  EXPECT_EQ(column_of(examples, "when.weekday").numbers[0], 1);  // 2024-01-01 was a Monday
  EXPECT_EQ(column_of(examples, "when.weekday").numbers[8], 1);
  const ExampleColumn& hour = column_of(examples, "when.hour");
  EXPECT_NEAR(hour.numbers[0], -1, 1e-12);  // the sine of three quarters of a day
  EXPECT_NEAR(hour.numbers[2], 1, 1e-12);
  const ExampleColumn& gap = column_of(examples, "when.gap");
  EXPECT_EQ(gap.missing, (Flags{1, 0, 1, 0}));
  EXPECT_NEAR(gap.numbers[3], std::log(3601), 1e-12);
}

/// Quoted cells can contain anything.
std::string as_cell(const std::string& text) {
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

RC_GTEST_PROP(TableReader, quoted_cells_round_trip, ()) {
  const char separator = *rc::gen::element(',', ';', '\t');
  const auto letter = rc::gen::element('a', 'b', ',', ';', '\t', '"', '\n', '\r', ' ');
  const auto cell = rc::gen::container<std::string>(letter);
  const auto rows = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(rc::gen::pair(cell, cell));
  std::string file = "n" + std::string(1, separator) + "x" + separator + "y\n";
  Texts xs, ys;
  for (const auto& [x, y] : rows) {
    file += std::to_string(xs.size()) + separator + as_cell(x) + separator + as_cell(y) + "\n";
    xs.push_back(x);
    ys.push_back(y);
  }
  RC_PRE(!rows.empty());
  const auto is_empty = [](const std::string& text) { return text.empty(); };
  RC_PRE(!std::all_of(xs.begin(), xs.end(), is_empty) && !std::all_of(ys.begin(), ys.end(), is_empty));
  const Examples examples = read_as("table", file, {.texts = {"x", "y"}});
  RC_ASSERT(examples.positions() == static_cast<Index>(xs.size()));
  RC_ASSERT(entries_of(examples, "x") == xs);
  RC_ASSERT(entries_of(examples, "y") == ys);
}

RC_GTEST_PROP(TableReader, numbers_are_read_to_the_last_digit, (const std::vector<double>& values)) {
  RC_PRE(values.size() > 1);
  std::string file;
  for (const double value : values) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g\n", value);
    file += text;
  }
  RC_ASSERT(column_of(read_as("table", file, {.numbers = {"value"}}), "value").numbers == values);
}

bool ends_inside(const std::vector<std::string>& lines) {
  OpenQuotes quotes;
  for (const std::string& line : lines) quotes.add(line + "\n");
  return quotes.inside();
}

TEST(OpenQuotes, QuotesOpenAtCellStartsAndCloseAtUndoubledQuotes) {
  EXPECT_FALSE(ends_inside({}));
  EXPECT_FALSE(ends_inside({"a,b", "1,2"}));
  EXPECT_TRUE(ends_inside({"a,b", "1,\"x"}));
  EXPECT_TRUE(ends_inside({"a,b", "1,\"x", "y, z", "\"\" and so on"}));
  EXPECT_FALSE(ends_inside({"a,b", "1,\"x", "y, z", "\"\" and so on\""}));
  EXPECT_FALSE(ends_inside({"a,b", "1,x\"y"}));          // in the middle of a cell it is a character
  EXPECT_TRUE(ends_inside({"a;b", "1; \"x"}));           // blanks may stand before it
  EXPECT_FALSE(ends_inside({"a;b", "1;x,\"y", "2;z"}));  // commas separate nothing here
  EXPECT_TRUE(ends_inside({"\"a"}));
  EXPECT_FALSE(ends_inside({"\"a", "\",b", "1,2"}));
}

}  // namespace
}  // namespace unfold
