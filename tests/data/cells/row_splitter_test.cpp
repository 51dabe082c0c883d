#include "data/cells/row_splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace unfold {
namespace {

using Cells = std::vector<std::string>;

struct ReadRow {
  Cells cells;
  Index line = 0;
  bool plain = true, carriage_return = false;
  bool operator==(const ReadRow&) const = default;
};

std::vector<ReadRow> rows_of(const std::string& text) {
  RowSplitter splitter(',', '\n', "");
  TableRow row;
  std::vector<ReadRow> rows;
  for (std::size_t position = 0; position < text.size();) {
    EXPECT_EQ(splitter.next(text, position, true, row), RowSplitter::Result::row);
    rows.push_back({Cells(row.cells.begin(), row.cells.end()), row.line, row.plain, row.carriage_return});
  }
  return rows;
}

/// The same for texts without quotes, one byte at a time.
std::vector<ReadRow> rows_by_bytes(const std::string& text) {
  std::vector<ReadRow> rows;
  std::string cell;
  ReadRow row{.cells = {}, .line = 1};
  const auto end_cell = [&] {
    const auto blank = [](char c) { return c == ' ' || c == '\r' || c == '\t'; };
    while (!cell.empty() && blank(cell.front())) cell.erase(0, 1);
    while (!cell.empty() && blank(cell.back())) cell.pop_back();
    row.cells.push_back(std::exchange(cell, {}));
  };
  const auto end_row = [&] {
    end_cell();
    rows.push_back(std::exchange(row, {.cells = {}, .line = row.line + 1}));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n';
    if (control || byte >= 0x7F) row.plain = false;
    if (text[i] == '\n') {
      row.carriage_return = i > 0 && text[i - 1] == '\r';
      end_row();
    } else if (text[i] == ',') {
      end_cell();
    } else {
      cell += text[i];
    }
  }
  if (!text.empty() && text.back() != '\n') end_row();
  return rows;
}

RC_GTEST_PROP(RowSplitter, BlocksOfBytesAreReadLikeSingleBytes, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::weightedElement<char>({{8, 'a'},
                                                                                     {4, '-'},
                                                                                     {4, ','},
                                                                                     {2, '\n'},
                                                                                     {1, ' '},
                                                                                     {1, '\t'},
                                                                                     {1, '\r'},
                                                                                     {1, '\x01'},
                                                                                     {1, '\x7F'},
                                                                                     {1, '\xE9'},
                                                                                     {1, '+'}}));
  RC_ASSERT(rows_of(text) == rows_by_bytes(text));
}

/// A cell as it is written, and as it is read.
struct WrittenCell {
  std::string written, read;
};

WrittenCell quoted(const std::string& text) {
  std::string written = "\"";
  for (const char c : text) written += c == '"' ? "\"\"" : std::string(1, c);
  return {written + "\"", text};
}

RC_GTEST_PROP(RowSplitter, CellsWithAndWithoutQuotesAreReadBack, ()) {
  const auto any =
      rc::gen::container<std::string>(rc::gen::element('a', 'b', '-', ',', '\n', '\r', ' ', '"', '\t', '\xE9', '\x01'));
  const auto plain = rc::gen::container<std::string>(rc::gen::element('a', 'b', '-', '+', '\xE9', '0'));
  const bool carriage_returns = *rc::gen::arbitrary<bool>(), last_line_end = *rc::gen::arbitrary<bool>();
  std::string text;
  std::vector<Cells> expected;
  const auto rows = *rc::gen::inRange<std::size_t>(1, 6);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto cells = *rc::gen::inRange<std::size_t>(1, 9);
    expected.emplace_back();
    for (std::size_t c = 0; c < cells; ++c) {
      const std::string contents = "x" + *plain;
      const WrittenCell cell = *rc::gen::inRange(0, 4) == 0 ? quoted(*any) : WrittenCell{contents, contents};
      const std::string before(*rc::gen::inRange<std::size_t>(0, 3), ' ');
      const std::string after(*rc::gen::inRange<std::size_t>(0, 3), ' ');
      text += (c > 0 ? "," : "") + before + cell.written + after;
      expected.back().push_back(cell.read);
    }
    if (r + 1 < rows || last_line_end) text += carriage_returns ? "\r\n" : "\n";
  }
  std::vector<Cells> read;
  for (const ReadRow& row : rows_of(text)) read.push_back(row.cells);
  RC_ASSERT(read == expected);
}

TEST(RowSplitter, EveryLengthOfCellAndRowIsRead) {
  for (std::size_t before = 0; before < 150; ++before)
    for (std::size_t after = 0; after < 20; ++after) {
      const std::string text = std::string(before, 'x') + "," + std::string(after, 'y') + "\nz";
      EXPECT_EQ(rows_of(text), rows_by_bytes(text)) << before << " " << after;
    }
}

TEST(RowSplitter, QuotedCellsAreFoundInEveryPlaceOfABlock) {
  for (std::size_t before = 0; before < 150; ++before) {
    const std::string text = std::string(before, 'x') + ",\"a,\"\"b\nc\" ,d\n";
    const std::vector<ReadRow> rows = rows_of(text);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].cells, (Cells{std::string(before, 'x'), "a,\"b\nc", "d"}));
  }
}

TEST(RowSplitter, NoBreakSpacesAtTheEndsOfCellsAreRemoved) {
  EXPECT_EQ(rows_of("\xC2\xA0,\xC2\xA0 1\xC2\xA0,\xC3\xA0\n")[0].cells, (Cells{"", "1", "\xC3\xA0"}));
}

TEST(RowSplitter, QuotedNumbersAndDatesHaveNoPadding) {
  EXPECT_EQ(rows_of("\" $563.00 \",\"  10,000.50 \",\" 2024-01-31\",\" $-   \"\n")[0].cells,
            (Cells{"$563.00", "10,000.50", "2024-01-31", "$-"}));
  EXPECT_EQ(rows_of("\" a\",\" 12 apples \",\"  \",\" -\"\n")[0].cells, (Cells{" a", " 12 apples ", "  ", " -"}));
}

}  // namespace
}  // namespace unfold
