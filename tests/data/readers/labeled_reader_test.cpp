#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

TEST(LabeledReader, tab_separates_label_and_text) {
  const Examples examples = read_as("labelled", "pos\ta good  film\r\nneg\tbad\n\n");
  EXPECT_EQ(names_of(examples), (Texts{"text", "label"}));
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"a", "good", "film", "bad"}));
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"pos", "neg"}));
  EXPECT_TRUE(column_of(examples, "label").once);
  EXPECT_EQ(examples.ends, (Indices{3, 4}));
  EXPECT_EQ(examples.lines, (Indices{1, 1, 1, 2}));
  EXPECT_EQ(examples.example_lines, (Indices{1, 2}));
}

TEST(LabeledReader, question_classes_are_coarse_and_fine) {
  const Examples examples = read_as("labelled", "NUM:dist How far ?\nHUM:ind Who ?\n");
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"NUM", "HUM"}));
  EXPECT_EQ(entries_of(examples, "fine"), (Texts{"NUM:dist", "HUM:ind"}));
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"How", "far", "?", "Who", "?"}));
}

TEST(LabeledReader, fasttext_lines_have_a_prefix) {
  const Examples examples = read_as("labelled", "__label__x one two\n__label__y three four\n");
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"x", "y"}));
  EXPECT_EQ(examples.ends, (Indices{2, 4}));
}

TEST(LabeledReader, one_word_texts_are_characters_by_default) {
  const std::string names = "f\tZoé\nm\tJo\n";
  EXPECT_EQ(entries_of(read_as("labelled", names), "text"), (Texts{"Z", "o", "é", "J", "o"}));
  EXPECT_EQ(entries_of(read_as("labelled", names, {.text = SymbolKind::words, .text_kind_set = true}), "text"),
            (Texts{"Zoé", "Jo"}));
  EXPECT_EQ(read_as("labelled", names, {.text = SymbolKind::bytes, .text_kind_set = true}).ends, (Indices{4, 6}));
}

TEST(LabeledReader, header_is_not_an_example) { EXPECT_EQ(read_as("labelled", "label\ttext\nx\ta b\n").count(), 1); }

TEST(LabeledReader, invalid_utf8_is_read_as_latin_1_with_a_warning) {
  const Examples examples = read_as("labelled", "x\ta b\ny\tcaf\xE9 ol\xE9\n");
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"a", "b", "café", "olé"}));
  ASSERT_EQ(examples.remarks.size(), 1u);
  EXPECT_EQ(examples.remarks[0], "data is not valid UTF-8 (line 2) and is read as ISO-8859-1");
  EXPECT_TRUE(read_as("labelled", "x\tcafé é\n").remarks.empty());
}

TEST(LabeledReader, characters_of_windows_are_read_with_a_warning) {
  const Examples examples = read_as("labelled", "x\ta \x80\ny\tcaf\xE9 \x96 ol\x81\n");
  EXPECT_EQ(entries_of(examples, "text"), (Texts{"a", "€", "café", "–", "ol\u0081"}));
  EXPECT_EQ(examples.remarks[0], "data is not valid UTF-8 (line 1) and is read as Windows-1252");
}

TEST(LabeledReader, line_without_label_or_text_is_rejected) {
  EXPECT_TRUE(contains(refusal("labelled", "x\ta\ny\n"),
                       "data: line 2: this line has no label and text as in \"LABEL<TAB>TEXT\""));
  EXPECT_TRUE(contains(refusal("labelled", "x\t\n"), "data: line 1: "));
  EXPECT_TRUE(contains(refusal("labelled", "x\ta\n\ny\tb\n"), "data: line 2: an empty line"));
  EXPECT_TRUE(contains(refusal("labelled", "A:b c\nd e\n"),
                       "data: line 2: this line has no label and text as in \"COARSE:fine TEXT\""));
  EXPECT_TRUE(contains(refusal("labelled", "__label__x c\nd e\n"), "\"__label__LABEL TEXT\""));
}

TEST(LabeledReader, question_classes_have_the_documented_counts) {
  UNFOLD_REAL_DATA(path, "sequences/qc/train.txt");
  const Examples examples = read_examples(Input::open(path), {});
  EXPECT_EQ(examples.count(), 5452);
  EXPECT_EQ(examples.remarks.size(), 1u);
  const Texts labels = entries_of(examples, "label");
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "LOC"), 835);
}

RC_GTEST_PROP(LabeledReader, written_labels_round_trip, ()) {
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z')));
  const auto lines = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<std::string, Texts>>>(
      rc::gen::pair(word, rc::gen::nonEmpty(rc::gen::container<Texts>(word)))));
  std::string file;
  Texts labels, words;
  Indices ends;
  for (const auto& [label, text] : lines) {
    file += label + "\t";
    for (const std::string& w : text) file += w + " ";
    file += "\n";
    labels.push_back(label);
    words.insert(words.end(), text.begin(), text.end());
    ends.push_back(static_cast<Index>(words.size()));
  }
  const Examples examples = read_as("labelled", file, {.text = SymbolKind::words, .text_kind_set = true});
  RC_ASSERT(entries_of(examples, "label") == labels);
  RC_ASSERT(entries_of(examples, "text") == words);
  RC_ASSERT(examples.ends == ends);
}

}  // namespace
}  // namespace unfold
