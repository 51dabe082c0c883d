/// Every text reader with every variant of bytes: encodings, line endings, trailing blanks, control characters. The
/// rules are the same for all readers (docs/data.md#encoding-and-compression).

#include <fmt/format.h>

#include <functional>

#include "data/readers/fasta.h"
#include "data/schema/describe_schema.h"
#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

/// A small file of a format. `word` is replaced by text that may contain any character.
struct FileOfFormat {
  const char* format;
  const char* text;      ///< in UTF-8, with LF; "Zoé" is in the word
  const char* field;     ///< the field with the word
  bool blanks = true;    ///< blanks at the ends of lines are not part of the content
  bool controls = true;  ///< control characters may be part of the word
};

const std::vector<FileOfFormat> kFiles = {
    {"table", "name,x,y\nZoé,1.5,a\nBob,2.5,b\nZoé,3.5,a\nBob,1.25,b\n", "name"},
    {"jsonl", "{\"name\": [\"Zoé\", \"Bob\"]}\n{\"name\": [\"Bob\", \"Zoé\"]}\n", "name", true, false},
    {"records", "{\"name\": \"Zoé\", \"x\": 1.5}\n{\"name\": \"Bob\", \"x\": 2.5}\n{\"name\": \"Zoé\", \"x\": 3.5}\n",
     "name", true, false},
    {"columns", "Zoé\tN\nsings\tV\n\nBob\tN\nsings\tV\n", "1"},
    {"labelled", "pos\tZoé sings well\nneg\tBob sings loud\n", "text"},
    {"pairs", "Zoé sings\tZoé chante\nBob sings\tBob chante\n", "source"},
    {"trees", "(3 (2 Zoé) (4 sings))\n(1 (2 Bob) (1 sings))\n", "word"},
    {"grids", "Zoé\t_1_\nBob\t1__\n\nZoé\t___\nBob\t111\n", "text", false},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// The examples without the remarks of the reader and without the schema, which contains byte counts.
Examples contents(Examples examples) {
  examples.remarks.clear();
  examples.schema = nullptr;
  return examples;
}

class TextHabits : public testing::TestWithParam<FileOfFormat> {
 protected:
  Examples plain() const { return contents(read(GetParam().text)); }
  Examples read(const std::string& bytes) const { return read_as(GetParam().format, bytes); }
  void expect_same(const std::string& bytes) const { EXPECT_EQ(contents(read(bytes)), plain()); }
  std::string text() const { return GetParam().text; }
};

TEST_P(TextHabits, AByteOrderMarkIsSkipped) { expect_same("\xEF\xBB\xBF" + text()); }

TEST_P(TextHabits, LinesMayEndInCarriageReturnAndLineFeed) { expect_same(replaced(text(), "\n", "\r\n")); }

TEST_P(TextHabits, LinesMayEndInCarriageReturns) { expect_same(replaced(text(), "\n", "\r")); }

TEST_P(TextHabits, TheLastLineNeedsNoLineEnd) { expect_same(text().substr(0, text().size() - 1)); }

TEST_P(TextHabits, BlanksAtLineEndsAreIgnored) {
  if (GetParam().blanks) expect_same(replaced(text(), "\n", "  \n"));
}

TEST_P(TextHabits, OneUndecodableByteMakesTheFileLatin1WithANote) {
  const Examples examples = read(replaced(text(), "é", "\xE9"));
  EXPECT_EQ(contents(examples), plain());
  ASSERT_FALSE(examples.remarks.empty());
  EXPECT_TRUE(contains(examples.remarks.front(), "is not valid UTF-8 (line ")) << examples.remarks.front();
}

TEST_P(TextHabits, Utf16AndZeroBytesAreRefused) {
  EXPECT_TRUE(contains(refusal(GetParam().format, std::string("\xFF\xFE") + "a\0\n\0"), "UTF-16"));
  EXPECT_TRUE(contains(refusal(GetParam().format, text() + std::string("a\0b\n", 4)), "a zero byte"));
}

/// Control characters and terminal escapes are part of the text, which is escaped wherever it is shown; JSON does not
/// allow them.
TEST_P(TextHabits, ControlCharactersAreKept) {
  for (const std::string control : {"\x01", "\x1B[31m", "\x7F"}) {
    if (!GetParam().controls) {
      EXPECT_TRUE(contains(refusal(GetParam().format, replaced(text(), "Zo", control + "Zo")), "line 1") ||
                  control == "\x7F");
      continue;
    }
    std::string bytes = replaced(text(), "Zo", control + "o");
    if (std::string_view(GetParam().format) == "grids" && control.size() > 1) continue;  // a different width
    const Examples examples = read(bytes);
    std::string all;
    for (const std::string& entry : entries_of(examples, GetParam().field)) all += entry;
    EXPECT_TRUE(contains(all, control)) << escape_cell(all, 80);
    for (const char c : escape_cell(all, 80)) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST_P(TextHabits, TheFormatIsDetectedWhateverTheLineEnds) {
  const std::string name = std::string_view(GetParam().format) == "table" ? "data.csv" : "data";
  const std::string format = format_of(name, text());
  EXPECT_EQ(format_of(name, replaced(text(), "\n", "\r\n")), format);
  EXPECT_EQ(format_of(name, replaced(text(), "\n", "\r")), format);
  EXPECT_EQ(format_of(name, "\xEF\xBB\xBF" + text()), format);
}

INSTANTIATE_TEST_SUITE_P(Readers, TextHabits, testing::ValuesIn(kFiles),
                         [](const auto& parameters) { return std::string(parameters.param.format); });

TEST(FastaHabits, LineEndsAndMarksDoNotChangeTheLetters) {
  const std::string text = ">a\nACGT\nAC\n>b\nGGTT\n";
  const auto letters = [](const std::string& bytes) { return read_fasta(Input::from_bytes("data.fa", bytes)).letters; };
  for (const std::string& bytes :
       {replaced(text, "\n", "\r\n"), replaced(text, "\n", "\r"), replaced(text, "\n", "  \n"), "\xEF\xBB\xBF" + text})
    EXPECT_EQ(letters(bytes), letters(text));
}

}  // namespace
}  // namespace unfold
