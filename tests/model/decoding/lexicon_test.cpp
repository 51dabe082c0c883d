#include "model/decoding/lexicon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::ScratchFolder;

TEST(Lexicon, texts_of_listed_words_and_separators_are_accepted) {
  const Alphabet alphabet = Alphabet::chars_of("abcdets' ,.\nZ9é");
  const Lexicon lexicon = lexicon_of({{"cat", "ca't", "bad", "xyz"}}, alphabet);
  EXPECT_EQ(lexicon.left_out, 1);
  const auto allows = [&](const std::string& text) { return lexicon.automaton.matches(alphabet.encode(text)); };
  for (const char* text : {"", "cat", " cat, bad.\ncat", "ca't cat", "cat ", "...", "bad,,bad"})
    EXPECT_TRUE(allows(text));
  for (const char* text : {"ca", "catbad", "cat's", "caté", "bad Z", "cat 9", "'", "cat'"}) EXPECT_FALSE(allows(text));
}

TEST(Lexicon, started_word_is_completed) {
  const Alphabet alphabet = Alphabet::chars_of("abcdet ");
  const Lexicon lexicon = lexicon_of({{"cat", "cab", "bad"}}, alphabet);
  const auto allows = [&](const std::string& begun, const std::string& more) {
    return continue_lexicon(lexicon.automaton, alphabet.encode(begun)).matches(alphabet.encode(more));
  };
  EXPECT_TRUE(allows("dada ca", "t"));  // words before the last one do not matter
  EXPECT_TRUE(allows("ca", "b bad"));
  EXPECT_FALSE(allows("ca", "d"));
  EXPECT_TRUE(allows("cat", " bad"));
  EXPECT_FALSE(allows("cat", "bad"));
  EXPECT_TRUE(allows("", "bad"));
  EXPECT_THAT(message_of<UsageError>([&] { allows("cat ba bd", ""); }), HasSubstr("no word of the list begins"));
}

TEST(Lexicon, word_alphabet_accepts_listed_symbols) {
  const Alphabet words(SymbolKind::words, {"<eos>", "<unk>", "the", "cat", "dog"});
  const Lexicon lexicon = lexicon_of({{"the", "cat", "mouse"}}, words);
  EXPECT_EQ(lexicon.left_out, 1);
  EXPECT_TRUE(lexicon.automaton.matches(words.encode("the cat\nthe the\n")));
  EXPECT_FALSE(lexicon.automaton.matches(words.encode("the dog")));
  EXPECT_EQ(continue_lexicon(lexicon.automaton, words.encode("dog dog")), lexicon.automaton);
}

TEST(Lexicon, lexicon_file_has_one_word_per_line) {
  const ScratchFolder folder;
  EXPECT_THAT(WordList::read(folder.write("a", " the\r\n\ncat\t\ndog")).words,
              testing::ElementsAre("the", "cat", "dog"));
  EXPECT_THAT(message_of<DataError>([&] { WordList::read(folder.write("b", "the\nbig cat\n")); }),
              HasSubstr("b:2: \"big cat\" is more than one word"));
  EXPECT_THAT(message_of<DataError>([&] { WordList::read(folder.write("c", "\n \n")); }),
              HasSubstr("contains no words;"));
  EXPECT_THAT(message_of<UsageError>([&] { lexicon_of({{"xyz"}}, Alphabet::chars_of("abc")); }),
              HasSubstr("can spell none of the 1 words"));
}

}  // namespace
}  // namespace unfold
