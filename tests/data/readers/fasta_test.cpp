#include "data/readers/fasta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing_support;

FastaFile fasta_of(const std::string& bytes) { return read_fasta(Input::from_bytes("x.fna", bytes)); }
std::string fasta_refusal(const std::string& bytes) {
  return message_of<DataError>([&] { fasta_of(bytes); });
}

TEST(Fasta, fasta_headers_are_removed_and_lines_joined) {
  const FastaFile file = fasta_of("; made by hand\n>NC_1 a bacterium\r\nACGT\r\nNNac\r\n\r\n>b|2\nMKV*\n>\nA-C.\n");
  EXPECT_EQ(file.letters, "ACGTNNac\nMKV*\nA-C.\n");
  EXPECT_THAT(file.names, ElementsAre("NC_1", "b|2", ""));
  EXPECT_THAT(file.ends, ElementsAre(9, 14, 19));
  EXPECT_EQ(file.lower_case, 2);
  EXPECT_FALSE(file.has_qualities);
}

TEST(Fasta, read_qualities_are_skipped) {
  const FastaFile file = fasta_of("@r1 x\nACGT\n+r1\n@II>\n@r2\nAC\nGT\n+\n++\n@@\n");
  EXPECT_EQ(file.letters, "ACGT\nACGT\n");
  EXPECT_THAT(file.names, ElementsAre("r1", "r2"));
  EXPECT_TRUE(file.has_qualities);
}

TEST(Fasta, fasta_errors_name_the_line) {
  EXPECT_THAT(fasta_refusal("ACGT\n"), HasSubstr("x.fna: line 1: there is neither a FASTA header"));
  EXPECT_THAT(fasta_refusal(">a\nAC\n>b\n\n>c\nA\n"), HasSubstr("line 3: the record \"b\" has no letters"));
  EXPECT_THAT(fasta_refusal(">a\nAC\nA4\n"), HasSubstr("line 3: \"4\" is not a code of a base"));
  EXPECT_THAT(fasta_refusal(">a\nA C\n"), HasSubstr("line 2: byte 32 is not a code of a base"));
  EXPECT_THAT(fasta_refusal("@r\nACGT\n+\nIII\n"), HasSubstr("3 qualities for the read \"r\", which has 4 letters"));
  EXPECT_THAT(fasta_refusal("@r\nACGT\n+\nIIIII\n"), HasSubstr("line 4: 5 qualities"));
  EXPECT_THAT(fasta_refusal("@r\nACGT\n"), HasSubstr("line 1: the read \"r\" has no line \"+\""));
  EXPECT_THAT(fasta_refusal("@r\nA\n+\nI\nC\n"), HasSubstr("line 5: the read above is complete"));
  EXPECT_THAT(fasta_refusal("@r\n+\n"), HasSubstr("line 1: the read \"r\" has no letters"));
  EXPECT_THAT(fasta_refusal("\n;\n"), HasSubstr("it contains no records"));
}

TEST(Fasta, line_of_a_letter_is_that_of_the_file) {
  const Input input = Input::from_bytes("x.fa", "; note\n>a\r\nACG\r\nTa\r\n\r\n>b\r\nNN\r\n");
  const FastaFile file = read_fasta(input);
  ASSERT_EQ(file.letters, "ACGTa\nNN\n");
  for (const auto& [letter, line] : {std::pair(0, 3), {2, 3}, {3, 4}, {4, 4}, {6, 7}, {7, 7}})
    EXPECT_EQ(fasta_line_of(input, letter), line) << letter;
}

TEST(Fasta, fasta_format_is_detected_by_name_or_first_line) {
  const ScratchFolder folder;
  const auto guess = [&](const std::string& name, const std::string& bytes) {
    return guess_fasta(folder.write(name, bytes));
  };
  EXPECT_THAT(guess("a.fna.gz", "packed"), HasSubstr("by its file name"));
  EXPECT_THAT(guess("a.fq", "x"), HasSubstr("FASTQ"));
  EXPECT_THAT(guess("a.txt", ">x y\nACGT\nAC\n"), HasSubstr("FASTA headers followed by letters"));
  EXPECT_THAT(guess("b.txt", "@x y\nACGT\n+\nIIII\n"), HasSubstr("a FASTQ read"));
  for (const char* text :
       {"> he wrote\n> to me\nand I to him\n", ">quoted\nYes, I did\n", "ACGT\n", "", ">a\n", "@a\nAC\n"})
    EXPECT_EQ(guess("c.txt", text), "") << text;
  EXPECT_EQ(guess_fasta(folder.path("missing")), "");
}

RC_GTEST_PROP(Fasta, any_records_round_trip_for_any_line_width, ()) {
  const auto records = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("ACGTNacgt*-."))))));
  const auto width = static_cast<std::size_t>(*rc::gen::inRange(1, 9));
  const bool qualities = *rc::gen::arbitrary<bool>(), returns = *rc::gen::arbitrary<bool>();
  const std::string line_end = returns ? "\r\n" : "\n";
  std::string text, letters;
  const auto wrap = [&](const std::string& line) {
    for (std::size_t at = 0; at < line.size(); at += width) text += line.substr(at, width) + line_end;
  };
  for (const std::string& record : records) {
    text += (qualities ? "@x" : ">x") + line_end;
    wrap(record);
    if (qualities) text += "+" + line_end;
    if (qualities) wrap(std::string(record.size(), *rc::gen::elementOf(std::string("@+I!>"))));
    letters += record + "\n";
  }
  const FastaFile file = fasta_of(text);
  RC_ASSERT(file.letters == letters);
  RC_ASSERT(file.count() == static_cast<Index>(records.size()));
}

}  // namespace
}  // namespace unfold
