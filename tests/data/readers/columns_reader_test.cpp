#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

TEST(ColumnsReader, line_is_a_position_and_empty_line_ends_an_example) {
  const Examples examples = read_as("columns", "\nA DT\ncat  NN \r\n\n \t\nIt PRP\n");
  EXPECT_EQ(names_of(examples), (Texts{"1", "2"}));
  EXPECT_EQ(entries_of(examples, "1"), (Texts{"A", "cat", "It"}));
  EXPECT_EQ(entries_of(examples, "2"), (Texts{"DT", "NN", "PRP"}));
  EXPECT_EQ(examples.ends, (Indices{2, 3}));
  EXPECT_EQ(examples.lines, (Indices{2, 3, 6}));
  EXPECT_EQ(examples.example_lines, (Indices{2, 6}));
}

TEST(ColumnsReader, header_names_columns) {
  const Examples examples = read_as("columns", "# columns: word pos\n# #\n");
  EXPECT_EQ(names_of(examples), (Texts{"word", "pos"}));
  EXPECT_EQ(entries_of(examples, "pos"), Texts{"#"});
  EXPECT_TRUE(contains(refusal("columns", "# columns: word\na b\n"),
                       "data: line 2: the line has 2 columns, but the header has 1"));
  EXPECT_TRUE(contains(refusal("columns", "\n# columns: a a\nb b\n"), "line 2: two columns are named a"));
}

TEST(ColumnsReader, tab_separated_entries_may_contain_blanks_or_be_missing) {
  const Examples examples = read_as("columns", "New York\t\tB\nis\tx\tO\n");
  EXPECT_EQ(entries_of(examples, "1"), (Texts{"New York", "is"}));
  EXPECT_EQ(column_of(examples, "2").missing, (Flags{1, 0}));
  EXPECT_TRUE(column_of(examples, "3").missing.empty());
}

TEST(ColumnsReader, document_start_lines_are_skipped) {
  const Examples examples = read_as("columns", "-DOCSTART- -X- O\n\na b c\nd e f\n-DOCSTART- -X- O\ng h i\n");
  EXPECT_EQ(examples.ends, (Indices{2, 3}));
}

TEST(ColumnsReader, conllu_columns_are_named_and_only_words_are_read) {
  const Examples examples = read_as("columns",
                                    "# sent_id = 1\n"
                                    "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
                                    "1\tdo\tdo\tAUX\tVB\t_\t0\troot\t_\t_\n"
                                    "2\t_\t_\tPART\tRB\t_\t1\tadvmod\t_\t_\n"
                                    "2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_\n\n"
                                    "# text = #\n"
                                    "1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_\n");
  EXPECT_EQ(names_of(examples),
            (Texts{"id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"}));
  EXPECT_EQ(entries_of(examples, "form"), (Texts{"do", "_", "#"}));
  EXPECT_TRUE(column_of(examples, "form").missing.empty());
  EXPECT_EQ(column_of(examples, "xpos").missing, (Flags{0, 0, 1}));
  EXPECT_EQ(entries_of(examples, "head"), (Texts{"0", "1", "0"}));
  EXPECT_EQ(examples.ends, (Indices{2, 3}));
}

TEST(ColumnsReader, decimals_are_numbers_and_integers_are_texts) {
  const Examples examples = read_as("columns", "1.5 0 a\n-2e1 1 b\n");
  EXPECT_EQ(column_of(examples, "1").width, 1);
  EXPECT_EQ(column_of(examples, "1").numbers, (Numbers{1.5, -20}));
  EXPECT_EQ(entries_of(examples, "2"), (Texts{"0", "1"}));
  EXPECT_EQ(column_of(read_as("columns", "0 1.5\n1 2\n", {.numbers = {"1"}}), "1").numbers, (Numbers{0, 1}));
  EXPECT_EQ(entries_of(read_as("columns", "0 1.5\n1 2\n", {.texts = {"2"}}), "2"), (Texts{"1.5", "2"}));
  EXPECT_TRUE(contains(refusal("columns", "1.5 a\ninf b\n"), "data: line 2: \"inf\" in column 1 is not finite"));
}

TEST(ColumnsReader, ragged_row_is_rejected_with_both_counts) {
  const std::string message = refusal("columns", "\na b c\nd e\n");
  EXPECT_TRUE(contains(message, "data: line 3: the line has 2 columns, but line 2 has 3")) << message;
}

TEST(ColumnsReader, empty_and_non_text_files_are_rejected) {
  EXPECT_TRUE(contains(refusal("columns", "\n\n"), "data: it contains no examples"));
  EXPECT_TRUE(contains(refusal("columns", std::string("a b\nc\0d e\n", 10)), "data: line 2: it contains a zero byte"));
}

TEST(ColumnsReader, real_corpora_have_the_documented_counts) {
  UNFOLD_REAL_DATA(chunks, "conll2000/test.txt");
  const Examples sentences = read_examples(Input::open(chunks), {});
  EXPECT_EQ(sentences.count(), 2012);
  EXPECT_EQ(sentences.positions(), 47377);
  UNFOLD_REAL_DATA(tree_bank, "ud/en_ewt-ud-test.conllu.gz");
  const Examples words = read_examples(Input::open(tree_bank), {});
  EXPECT_EQ(words.count(), 2077);
  EXPECT_EQ(words.positions(), 25096);
  UNFOLD_REAL_DATA(vowels, "timeseries/japanese_vowels/ae.train");
  const Examples frames = read_examples(Input::open(vowels), {});
  EXPECT_EQ(frames.count(), 270);
  EXPECT_EQ(frames.positions(), 4274);
  EXPECT_EQ(column_of(frames, "12").width, 1);
}

RC_GTEST_PROP(ColumnsReader, written_columns_round_trip, ()) {
  const Index width = *rc::gen::inRange(1, 5);
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('!', '~')));
  const auto row = rc::gen::container<Texts>(static_cast<std::size_t>(width), word);
  const auto sentences = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<Texts>>>(
      rc::gen::nonEmpty(rc::gen::container<std::vector<Texts>>(row))));
  std::string file = "# columns:";
  for (Index c = 0; c < width; ++c) file += " c" + std::to_string(c);
  std::vector<Texts> wanted(at(width));
  Indices ends;
  file += '\n';
  for (const auto& sentence : sentences) {
    for (const Texts& entries : sentence) {
      for (std::size_t c = 0; c < entries.size(); ++c) {
        file += (c > 0 ? " " : "") + entries[c];
        wanted[c].push_back(entries[c]);
      }
      file += '\n';
    }
    file += '\n';
    ends.push_back(static_cast<Index>(wanted[0].size()));
  }
  const Examples examples = read_as("columns", file);
  RC_ASSERT(examples.ends == ends);
  for (Index c = 0; c < width; ++c) {
    const ExampleColumn& column = examples.columns[at(c)];
    if (column.is_text()) {
      RC_ASSERT(column.texts == wanted[at(c)]);
    } else {
      RC_ASSERT(column.entries() == static_cast<Index>(wanted[at(c)].size()));
    }
  }
}

}  // namespace
}  // namespace unfold
