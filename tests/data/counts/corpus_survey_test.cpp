/// Corpora read in parts by several processes, compared with those read entirely by one process.

#include "data/counts/corpus_survey.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/base/scratch.h"
#include "tests/support/simulated_processes.h"
#include "unfold/data/text/corpus.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

/// Returns about `bytes` bytes: words of letters of one to four bytes, runs of blanks, empty lines.
std::string mixed_text(std::size_t bytes, unsigned seed) {
  static const std::vector<std::string> kPieces = {"a", "bc", "é",  "ж",  "語", "𝄞",   "und",
                                                   " ", " ",  "  ", "\t", "\n", "\r\n"};
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) text += kPieces[random() % kPieces.size()];
  return text;
}

Corpus whole(const std::vector<std::string>& files, const AlphabetOptions& options) {
  return Corpus::load(files, build_alphabet(files, options));
}

void expect_same(const Corpus& found, const Corpus& expected, unsigned seed) {
  ASSERT_TRUE(found.alphabet() == expected.alphabet());
  ASSERT_EQ(found.sequences(), expected.sequences());
  ASSERT_EQ(found.symbols(), expected.symbols());
  ASSERT_EQ(found.bytes(), expected.bytes());
  std::mt19937 random(seed);
  for (Index s = 0; s < expected.sequences(); ++s) {
    const Index n = expected.length(s);
    ASSERT_EQ(found.length(s), n);
    ASSERT_EQ(found.source(s), expected.source(s));
    ASSERT_EQ(found.read(s, {0, n}), expected.read(s, {0, n}));
    for (int i = 0; i < 12; ++i) {
      const Index begin = static_cast<Index>(random()) % n,
                  end = begin + static_cast<Index>(random()) % (n - begin + 1);
      ASSERT_EQ(found.read(s, {begin, end}), expected.read(s, {begin, end})) << begin << " to " << end;
      ASSERT_EQ(found.bytes(s, {begin, end}), expected.bytes(s, {begin, end})) << begin << " to " << end;
    }
    for (const Index end : {Index{0}, n - 1, n})
      ASSERT_EQ(found.bytes(s, {0, end}), expected.bytes(s, {0, end})) << end;
  }
}

/// Expects the same corpus in one and in several processes, with few and with many blocks kept.
void expect_same_in_any_number(const std::vector<std::string>& files, const AlphabetOptions& options, unsigned seed,
                               const std::vector<int>& counts = {1, 2, 3}) {
  const Corpus expected = whole(files, options);
  for (const int count : counts)
    run_in_processes(count, [&](Processes& processes) {
      CorpusSurvey survey = survey_corpus(files, options, processes);
      expect_same(Corpus::of_blocks(survey.files, survey.marks, survey.alphabet, processes.first() ? 1 : 9), expected,
                  seed);
    });
}

TEST(CorpusSurvey, corpus_survey_does_not_depend_on_the_number_of_processes) {
  const ScratchFolder folder;
  for (unsigned seed = 0; seed < 2; ++seed) {
    const std::vector<std::string> files = {
        folder.write("one", mixed_text(3 * kTextBlock - 5 + seed, seed)), folder.write("two", mixed_text(40, seed + 9)),
        folder.write("three", mixed_text(kTextBlock + seed, seed + 7) + (seed % 2 == 0 ? "\n" : " end \t "))};
    SCOPED_TRACE(seed);
    expect_same_in_any_number(files, {.kind = SymbolKind::bytes}, seed);
    expect_same_in_any_number(files, {.kind = SymbolKind::chars}, seed);
    expect_same_in_any_number(files, {.kind = SymbolKind::words}, seed);
    expect_same_in_any_number(files, {.kind = SymbolKind::words, .vocabulary = 40}, seed);
    expect_same_in_any_number(files, {.kind = SymbolKind::words, .with_unknown = true}, seed);
  }
}

/// Tokens that cross the end of a block, at every position.
TEST(CorpusSurvey, tokens_across_block_ends_are_counted_once) {
  const ScratchFolder folder;
  for (const std::string piece : {"𝄞語éa", " word ", "\n\n", " \t \r\n "})
    for (std::size_t before = 0; before <= piece.size() + 1; ++before) {
      const std::string text =
          std::string(static_cast<std::size_t>(kTextBlock) - before - 9, ' ') + "beginning" + piece + "x y\n";
      SCOPED_TRACE(piece + " " + std::to_string(before));
      for (const SymbolKind kind : {SymbolKind::chars, SymbolKind::words})
        expect_same_in_any_number({folder.write("text", text)}, {.kind = kind}, 1, {2});
    }
  // Only blanks after the last word, for several blocks.
  expect_same_in_any_number({folder.write("text", "a b" + std::string(static_cast<std::size_t>(2 * kTextBlock), ' '))},
                            {.kind = SymbolKind::words}, 1);
}

TEST(CorpusSurvey, corpus_errors_equal_those_of_one_process) {
  const ScratchFolder folder;
  const auto refused = [&](int count, const std::vector<std::string>& files, const AlphabetOptions& options) {
    return message_of<DataError>(
        [&] { run_in_processes(count, [&](Processes& processes) { survey_corpus(files, options, processes); }); });
  };
  const auto size = static_cast<std::size_t>(kTextBlock);
  for (const std::size_t place : {std::size_t{5}, size - 1, size, size + 1, 2 * size - 2, 3 * size - 1})
    for (const std::string wrong : {"\x80", "\xE8\xAA", "\x80\x80\x80\x80\x80"}) {
      std::string text = mixed_text(3 * size, 3);
      while ((static_cast<unsigned char>(text[place - 3]) & 0xC0U) == 0x80) text.insert(0, "\n");  // align
      for (std::size_t i = place - 3; i < std::min(place + 9, text.size()); ++i) text[i] = '\n';
      text.replace(place, wrong.size(), wrong);
      const std::vector<std::string> files = {folder.write("good", "good\n"), folder.write("bad", text + "\xFF")};
      for (const SymbolKind kind : {SymbolKind::chars, SymbolKind::words}) {
        const std::string expected = message_of<DataError>([&] { build_alphabet(files, {.kind = kind}); });
        EXPECT_TRUE(contains(expected, "is not valid UTF-8"));
        for (const int count : {1, 2, 3}) EXPECT_EQ(refused(count, files, {.kind = kind}), expected) << place;
      }
    }
  const std::string long_word = folder.write("word", std::string(3 * size, 'x') + " end");
  EXPECT_TRUE(contains(refused(2, {long_word}, {.kind = SymbolKind::words}), "is longer than 65536 bytes"));
  EXPECT_TRUE(contains(refused(2, {folder.write("empty", "")}, {.kind = SymbolKind::chars}), "is empty"));
  EXPECT_TRUE(contains(refused(2, {folder.path("none")}, {.kind = SymbolKind::chars}), "no such file"));
  EXPECT_TRUE(contains(refused(2, {folder.write("blank", " \t ")}, {.kind = SymbolKind::words}), "only blanks"));
  EXPECT_THROW(
      run_in_processes(
          2, [&](Processes& p) { survey_corpus({long_word}, {.kind = SymbolKind::bytes, .vocabulary = 3}, p); }),
      UsageError);
}

TEST(CorpusSurvey, file_that_changes_between_reads_is_named) {
  const ScratchFolder folder;
  std::string text = mixed_text(2 * kTextBlock, 1);
  const std::string file = folder.write("text", text);
  CorpusSurvey survey = survey_corpus({file}, {.kind = SymbolKind::bytes}, single_process());
  const Corpus corpus = Corpus::of_blocks(survey.files, survey.marks, survey.alphabet, 2);
  text[static_cast<std::size_t>(kTextBlock) + 7] = '#';
  folder.write("text", text);
  EXPECT_EQ(corpus.read(0, {0, 3}).size(), 3U);
  EXPECT_TRUE(contains(message_of<RuntimeFailure>([&] {
                         corpus.read(0, {kTextBlock, kTextBlock + 3});
                       }),
                       "have changed since they were counted"));
}

}  // namespace
}  // namespace unfold
