#include "base/printable.h"

#include <gtest/gtest.h>

namespace unfold::test {
namespace {

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(escape_controls("a\x1b[31mb\a\x7f\r\n\t"), "a\\x1B[31mb\\x07\\x7F\\r\\n\\t");
  EXPECT_EQ(escape_controls("\xc2\x9b"
                            "31m"),
            "\\u{9B}31m");
  EXPECT_EQ(escape_controls(std::string_view("\0\x9b\xff", 3)), "\\x00\\x9B\\xFF");
  EXPECT_EQ(escape_controls("Zürich 日本 \\d"), "Zürich 日本 \\d");
}

TEST(Printable, DifferentValuesAreEscapedDifferently) {
  EXPECT_EQ(escape_value("\t"), "\\t");
  EXPECT_EQ(escape_value("\\t"), "\\\\t");
  EXPECT_EQ(escape_value("\x1b"), "\\x1B");
  EXPECT_EQ(escape_value("\\x1B"), "\\\\x1B");
}

TEST(Printable, CellsKeepAllOtherBytes) {
  EXPECT_EQ(escape_cell("a\tb\nc\rd\\t"), "a\\tb\\nc\\rd\\\\t");
  EXPECT_EQ(escape_cell("\x1b[1m\xff"), "\x1b[1m\xff");
}

TEST(Printable, QuotedValuesAreBounded) {
  EXPECT_EQ(in_quotes("lstm:\n"), "\"lstm:\\n\"");
  EXPECT_LT(in_quotes(std::string(12000, 'x')).size(), 150U);
  EXPECT_NE(in_quotes(std::string(12000, 'x')).find("bytes)"), std::string::npos);
}

TEST(Printable, MessagesAreBounded) {
  EXPECT_EQ(bounded_message("a short message"), "a short message");
  EXPECT_LT(bounded_message("no " + std::string(200, 'x') + " here").size(), 200U);
  EXPECT_TRUE(bounded_message("no " + std::string(5000, 'x') + " here").ends_with(" here"));
  std::string words;
  for (int i = 0; i < 5000; ++i) words += "word ";
  EXPECT_LT(bounded_message(words).size(), 1300U);
  std::string umlauts;
  for (int i = 0; i < 500; ++i) umlauts += "ü";
  const std::string cut = bounded_message(umlauts);
  EXPECT_EQ(escape_controls(cut), cut);  // no character was divided
}

TEST(Printable, TerminalTextMayDivideCharacters) {
  TerminalText text;
  std::string out = text.next("a\xc3");
  EXPECT_EQ(out, "a");
  out += text.next("\xbc\n\tb\xe2\x82");
  out += text.next("\xac\x1b]0;title\a\xc2");
  out += text.next("\x9b");
  out += text.next("\xe2\x82");
  out += text.finish();
  EXPECT_EQ(out, "aü\n\tb€\\x1B]0;title\\x07\\u{9B}\\xE2\\x82");
}

}  // namespace
}  // namespace unfold::test
