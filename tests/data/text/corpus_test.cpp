#include "unfold/data/text/corpus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

Input text_input(const std::string& text) { return Input::from_bytes("text.txt", text); }

std::vector<Symbol> all_of(const Corpus& corpus, Index sequence = 0) {
  return corpus.read(sequence, {0, corpus.length(sequence)});
}

/// Expects any range of a corpus to match the whole, and the bytes of the parts to add up.
void expect_consistent(const Corpus& corpus) {
  Index symbols = 0, bytes = 0;
  for (Index s = 0; s < corpus.sequences(); ++s) {
    const std::vector<Symbol> whole = all_of(corpus, s);
    const Index length = corpus.length(s);
    for (Index begin = 0; begin <= length; begin += 1 + length / 7) {
      for (Index end = begin; end <= length; end += 1 + length / 5) {
        const std::vector<Symbol> expected(whole.begin() + begin, whole.begin() + end);
        RC_ASSERT(corpus.read(s, {begin, end}) == expected);
        RC_ASSERT(corpus.bytes(s, {0, begin}) + corpus.bytes(s, {begin, end}) == corpus.bytes(s, {0, end}));
      }
    }
    symbols += length;
    bytes += corpus.bytes(s, {0, length});
  }
  RC_ASSERT(symbols == corpus.symbols());
  RC_ASSERT(bytes == corpus.bytes());
}

std::string any_text(std::uint32_t highest) {
  std::string text = "a";
  for (const auto code : *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, highest))) {
    if (is_scalar_value(code)) append_utf8(text, code);
    if (code % 7 == 0) text += code % 2 == 0 ? " " : "\n";
  }
  return text;
}

RC_GTEST_PROP(Corpora, characters_equal_the_alphabet_for_any_storage, ()) {
  const std::string text = any_text(*rc::gen::element<std::uint32_t>(0x7F, 0x200, 0x11000));
  const Alphabet alphabet = Alphabet::chars_of(text);
  for (const Index memory : {Index{1} << 20, Index{0}}) {
    const Corpus corpus = Corpus::load({text_input(text)}, alphabet, {.memory_limit = memory});
    RC_ASSERT(all_of(corpus) == alphabet.encode(text));
    RC_ASSERT(corpus.bytes() == static_cast<Index>(text.size()));
    expect_consistent(corpus);
    for (Index i = 0; i < corpus.length(0); ++i) {
      const Symbol s = corpus.read(0, {i, i + 1})[0];
      RC_ASSERT(corpus.bytes(0, {i, i + 1}) == static_cast<Index>(alphabet.text(s).size()));
    }
  }
}

RC_GTEST_PROP(Corpora, words_equal_the_alphabet_and_last_lines_are_terminated, ()) {
  const std::string text = any_text(0x200);
  const std::vector<Input> inputs{text_input(text)};
  const Alphabet alphabet = build_alphabet(inputs, {SymbolKind::words, *rc::gen::element<Index>(0, 3)});
  const Corpus corpus = Corpus::load(inputs, alphabet);
  std::vector<Symbol> expected = alphabet.encode(text);
  const std::size_t last_line = text.rfind('\n') + 1;
  if (text.find_first_not_of(" \t\r", last_line) != std::string::npos) expected.push_back(alphabet.line_end());
  RC_ASSERT(all_of(corpus) == expected);
  RC_ASSERT(corpus.bytes() == static_cast<Index>(text.size()));
  expect_consistent(corpus);
}

RC_GTEST_PROP(Corpora, skipped_symbols_are_counted_only, ()) {
  const std::string text = any_text(0x90);
  const Alphabet alphabet = Alphabet::chars_of("abcdefgh \nJKLMNOPQ\x05\x06\x07\x7F");
  const Corpus corpus = Corpus::load({text_input(text)}, alphabet, {.unknown = UnknownPolicy::skip});
  const std::vector<Symbol> expected = alphabet.encode(text, UnknownPolicy::skip);
  RC_ASSERT(all_of(corpus) == expected);
  RC_ASSERT(corpus.unknown() == static_cast<Index>(decode_utf8(text).size() - expected.size()));
  RC_ASSERT(corpus.bytes() == static_cast<Index>(expected.size()));
  expect_consistent(corpus);
}

RC_GTEST_PROP(Corpora, lines_are_sequences_that_add_up_to_the_file, ()) {
  const std::string text = any_text(*rc::gen::element<std::uint32_t>(0x7F, 0x200));
  const Alphabet alphabet = Alphabet::chars_of(text);
  const Corpus corpus = Corpus::load({text_input(text)}, alphabet, {.lines = true});
  std::vector<Symbol> together;
  for (Index s = 0; s < corpus.sequences(); ++s) {
    const std::vector<Symbol> line = all_of(corpus, s);
    RC_ASSERT(!line.empty());
    for (std::size_t i = 0; i + 1 < line.size(); ++i) RC_ASSERT(line[i] != alphabet.line_end());
    RC_ASSERT(s + 1 == corpus.sequences() || line.back() == alphabet.line_end());
    together.insert(together.end(), line.begin(), line.end());
  }
  RC_ASSERT(together == alphabet.encode(text));
  expect_consistent(corpus);
}

TEST(Corpora, long_texts_count_the_bytes_of_every_range) {
  // Longer than the distance between marks, with characters of one to four bytes, some of them skipped.
  std::string text, kept;
  for (int i = 0; i < 20000; ++i) {
    const std::string character =
        std::vector<std::string>{"a", "é", "€", "😀", "?"}[static_cast<std::size_t>(i * i % 5)];
    text += character;
    if (character != "?") kept += character;
  }
  const Alphabet alphabet = Alphabet::chars_of("aé€😀");
  const Corpus corpus = Corpus::load({text_input(text)}, alphabet, {.unknown = UnknownPolicy::skip});
  const std::vector<Symbol> symbols = all_of(corpus);
  EXPECT_EQ(alphabet.decode(symbols), kept);
  for (Index end = 0; end <= corpus.length(0); end += 61) {
    const std::string prefix = alphabet.decode(std::span(symbols).first(static_cast<std::size_t>(end)));
    ASSERT_EQ(corpus.bytes(0, {0, end}), static_cast<Index>(prefix.size()));
  }
}

TEST(Corpora, each_file_is_a_sequence) {
  const ScratchFolder folder;
  const std::vector<std::string> files{folder.write("a", "ab\nc"), folder.write("b", "é"), folder.write("c", "c")};
  const Corpus corpus = Corpus::load(files, build_alphabet(files, {SymbolKind::chars}));
  ASSERT_EQ(corpus.sequences(), 3);
  EXPECT_EQ(corpus.symbols(), 6);
  EXPECT_EQ(corpus.bytes(), 7);
  EXPECT_EQ(corpus.source(1), files[1]);
  EXPECT_EQ(all_of(corpus, 1), (std::vector<Symbol>{4}));
  EXPECT_EQ(Corpus::load(files, corpus.alphabet(), {.lines = true}).sequences(), 4);
  EXPECT_THROW(corpus.read(0, {3, 5}), UsageError);
}

TEST(Corpora, symbols_beyond_memory_are_stored_in_a_file_of_any_width) {
  for (const char32_t symbols : {100u, 300u, 70000u}) {
    std::string text;
    for (char32_t i = 0; i < 150000; ++i)
      append_utf8(text, U'\u0400' + i * 7919 % symbols + (i * 7919 % symbols > 50000 ? 0x2000u : 0u));
    const Alphabet alphabet = Alphabet::chars_of(text);
    const Corpus in_memory = Corpus::load({text_input(text)}, alphabet);
    const Corpus spilled = Corpus::load({text_input(text)}, alphabet, {.memory_limit = 1000});
    EXPECT_EQ(alphabet.size(), static_cast<Index>(symbols));
    EXPECT_EQ(all_of(spilled), alphabet.encode(text));
    EXPECT_EQ(all_of(spilled), all_of(in_memory));
  }
}

TEST(Corpora, full_temporary_folder_is_a_runtime_failure) {
  ::setenv("TMPDIR", "/nonexistent", 1);
  const std::string message = message_of<RuntimeFailure>(
      [] { Corpus::load({text_input("éa")}, Alphabet::chars_of("éa"), {.memory_limit = 0}); });
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(contains(message, "set TMPDIR")) << message;
}

TEST(Corpora, unknown_symbols_name_file_position_and_remedy) {
  const Alphabet chars = Alphabet::chars_of("ab\n");
  const std::string message = message_of<DataError>([&] { Corpus::load({text_input("ab\nab€")}, chars); });
  EXPECT_TRUE(contains(message, "text.txt: \"€\" at offset 5 (line 2)")) << message;
  EXPECT_TRUE(contains(message, "--unknown skip"));
  // Also contains unknown ASCII characters, which the lookup table handles.
  EXPECT_TRUE(contains(message_of<DataError>([&] { Corpus::load({text_input("abc")}, chars); }), "\"c\" at offset 2"));
  const std::vector<Input> words{text_input("the cat\n")};
  const Alphabet known = build_alphabet(words, {SymbolKind::words}),
                 open = build_alphabet(words, {SymbolKind::words, 0, true});
  EXPECT_THROW(Corpus::load({text_input("the dog\n")}, known), DataError);
  const Corpus skipped = Corpus::load({text_input("the dog\n")}, known, {.unknown = UnknownPolicy::skip});
  EXPECT_EQ(known.decode(all_of(skipped)), "the\n");
  EXPECT_EQ(skipped.bytes(), 4);  // "the" and the newline
  EXPECT_EQ(skipped.unknown(), 1);
  const Corpus mapped = Corpus::load({text_input("the dog <unk>\n")}, open);
  EXPECT_EQ(open.decode(all_of(mapped)), "the <unk> <unk>\n");
  EXPECT_EQ(mapped.unknown(), 1);
}

TEST(Corpora, empty_and_non_text_files_are_data_errors) {
  const Alphabet chars = Alphabet::chars_of("ab\n");
  EXPECT_TRUE(contains(message_of<DataError>([&] { Corpus::load({text_input("")}, chars); }), "text.txt is empty"));
  EXPECT_TRUE(contains(
      message_of<DataError>([&] { Corpus::load({text_input("xyz")}, chars, {.unknown = UnknownPolicy::skip}); }),
      "contains none"));
  EXPECT_TRUE(contains(message_of<DataError>([&] { Corpus::load({text_input("a\xC0")}, chars); }),
                       "text.txt: byte 0xC0 at offset 1 (line 1) is not valid UTF-8"));
  EXPECT_THROW(Corpus::load(std::vector<Input>{}, chars), DataError);
}

TEST(RealCorpora, penn_treebank_word_counts_match_the_literature) {
  UNFOLD_REAL_DATA(train, "ptb/ptb.train.txt.gz");
  const std::vector<std::string> files{train, testing_support::real_data("ptb/ptb.valid.txt"),
                                       testing_support::real_data("ptb/ptb.test.txt")};
  const Alphabet alphabet = build_alphabet(std::vector<std::string>{train}, {SymbolKind::words, 10000});
  EXPECT_EQ(alphabet.size(), 10000);
  EXPECT_EQ(alphabet.name(0), "the");
  EXPECT_NE(alphabet.unknown(), kNoSymbol);
  const Corpus corpus = Corpus::load(files, alphabet);
  EXPECT_EQ(corpus.length(0), 929589);
  EXPECT_EQ(corpus.length(1), 73760);
  EXPECT_EQ(corpus.length(2), 82430);
  EXPECT_EQ(corpus.unknown(), 0);
  EXPECT_EQ(Corpus::load({files[1]}, alphabet, {.lines = true}).sequences(), 3370);
}

TEST(RealCorpora, penn_treebank_character_counts_match_the_literature) {
  UNFOLD_REAL_DATA(train, "ptb/ptb.char.train.txt.gz");
  const std::vector<std::string> files{train, testing_support::real_data("ptb/ptb.char.valid.txt.gz"),
                                       testing_support::real_data("ptb/ptb.char.test.txt.gz")};
  const Alphabet alphabet = build_alphabet(std::vector<std::string>{train}, {SymbolKind::words});
  EXPECT_EQ(alphabet.size(), 50);
  const Corpus corpus = Corpus::load(files, alphabet);
  EXPECT_EQ(corpus.length(0), 5017482);
  EXPECT_EQ(corpus.length(1), 393042);
  EXPECT_EQ(corpus.length(2), 442423);
}

TEST(RealCorpora, wikitext_word_counts_match_the_literature) {
  UNFOLD_REAL_DATA(valid, "wikitext2/valid.txt.gz");
  const std::vector<std::string> files{valid, testing_support::real_data("wikitext2/test.txt.gz")};
  const Corpus corpus = Corpus::load(files, build_alphabet(files, {SymbolKind::words}));
  EXPECT_EQ(corpus.length(0), 217646);
  EXPECT_EQ(corpus.length(1), 245569);
}

}  // namespace
}  // namespace unfold
