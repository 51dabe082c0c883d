#include "unfold/data/text/split.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;

Corpus corpus_of(const std::vector<Index>& lengths) {
  std::vector<Input> inputs;
  for (const Index length : lengths) {
    inputs.push_back(Input::from_bytes("text", std::string(static_cast<std::size_t>(length), 'a')));
  }
  return Corpus::load(inputs, Alphabet::all_bytes());
}

TEST(Splits, percentages_are_read_exactly) {
  using Shares = std::array<Index, 3>;
  EXPECT_EQ(parse_split("90/5/5").shares, (Shares{90000000, 5000000, 5000000}));
  EXPECT_EQ(parse_split("90/10").shares, (Shares{90000000, 10000000, 0}));
  EXPECT_EQ(parse_split("100").shares, (Shares{100000000, 0, 0}));
  EXPECT_EQ(parse_split("33.333333/33.333333/33.333334").shares, (Shares{33333333, 33333333, 33333334}));
  EXPECT_EQ(parse_split("99.9/0.1").shares, (Shares{99900000, 100000, 0}));
}

TEST(Splits, malformed_splits_are_usage_errors_with_an_example) {
  for (const char* text : {"", "90", "90/5", "90/5/6", "90/5/5/0", "a/b", "90/-5/15", "90 /10", "0/50/50", "90/10/",
                           "1e1/90", "nan/50", "90./10", ".5/99.5", "99.9999999/0.0000001", "99999999999999999999/1"}) {
    const std::string message = message_of<UsageError>([&] { parse_split(text); });
    EXPECT_TRUE(contains(message, "use for example 90/5/5")) << '"' << text << '"';
  }
}

RC_GTEST_PROP(Splits, parts_are_contiguous_and_together_the_corpus, ()) {
  auto lengths = *rc::gen::container<std::vector<Index>>(rc::gen::inRange<Index>(1, 50));
  lengths.push_back(100);
  const Corpus corpus = corpus_of(lengths);
  const Index first = *rc::gen::inRange<Index>(1, 99), second = *rc::gen::inRange<Index>(1, 100 - first);
  const auto parts = split_corpus(corpus, parse_split(std::to_string(first) + '/' + std::to_string(second) + '/' +
                                                      std::to_string(100 - first - second)));
  const Index n = corpus.symbols();
  RC_ASSERT(parts[0].symbols() == n * first / 100);
  RC_ASSERT(parts[1].symbols() == n * (first + second) / 100 - n * first / 100);
  Index bytes = 0, sequence = 0, position = 0;
  for (const Split& part : parts) {
    bytes += part.bytes(corpus);
    for (const Piece& piece : part.pieces) {
      if (position == corpus.length(sequence)) ++sequence, position = 0;
      RC_ASSERT(piece.sequence == sequence);
      RC_ASSERT(piece.range.begin == position);
      RC_ASSERT(piece.range.end > position);
      position = piece.range.end;
    }
  }
  RC_ASSERT(sequence + 1 == corpus.sequences());
  RC_ASSERT(position == corpus.length(sequence));
  RC_ASSERT(bytes == corpus.bytes());
}

TEST(Splits, empty_part_is_named) {
  const Corpus corpus = corpus_of({10});
  EXPECT_TRUE(
      contains(message_of<DataError>([&] { split_corpus(corpus, parse_split("5/55/40")); }), "the training part"));
  EXPECT_TRUE(
      contains(message_of<DataError>([&] { split_corpus(corpus, parse_split("90/5/5")); }), "the validation part"));
  EXPECT_TRUE(contains(message_of<DataError>([&] { split_corpus(corpus_of({1}), parse_split("50/50")); }), "training"));
  const auto parts = split_corpus(corpus, parse_split("90/10/0"));
  EXPECT_TRUE(parts[2].empty());
  EXPECT_EQ(parts[0].pieces, (std::vector<Piece>{{0, {0, 9}}}));
  EXPECT_EQ(parts[1].pieces, (std::vector<Piece>{{0, {9, 10}}}));
  EXPECT_EQ(whole_corpus(corpus_of({2, 3}), "all").pieces, (std::vector<Piece>{{0, {0, 2}}, {1, {0, 3}}}));
}

TEST(Splits, ASortedListHasTheSameFirstLettersInEachPart) {
  std::string text;
  constexpr Index kLines = 2600;
  for (Index i = 0; i < kLines; ++i) text += std::string(1, static_cast<char>('a' + 26 * i / kLines)) + "xy\n";
  const Corpus corpus = Corpus::load({Input::from_bytes("list", text)}, Alphabet::all_bytes(), {.lines = true});
  const auto parts = split_corpus(corpus, parse_split("80/10/10"), SplitOrder::shuffled);
  std::vector<int> times(static_cast<std::size_t>(corpus.sequences()));
  Index bytes = 0;
  for (const Split& part : parts) {
    std::array<Index, 26> first{};
    Index last = -1;
    for (const Piece& piece : part.pieces) {
      EXPECT_LT(last, piece.sequence);
      last = piece.sequence;
      EXPECT_EQ(piece.range.size(), corpus.length(piece.sequence));
      ++times[static_cast<std::size_t>(piece.sequence)];
      ++first[static_cast<std::size_t>(corpus.read(piece.sequence, {0, 1}).front() - 'a')];
    }
    EXPECT_GT(std::ranges::min(first), 0) << part.name;
    bytes += part.bytes(corpus);
  }
  EXPECT_EQ(std::ranges::count(times, 1), kLines);
  EXPECT_EQ(bytes, corpus.bytes());
  EXPECT_EQ(parts[1].pieces.size(), 260U);
  EXPECT_EQ(split_corpus(corpus, parse_split("80/10/10"), SplitOrder::shuffled)[1].pieces, parts[1].pieces);
}

TEST(Splits, FewSequencesAndRunningTextKeepTheirOrder) {
  const Corpus corpus = corpus_of(std::vector<Index>(at(kFewestShuffled - 1), 3));
  EXPECT_EQ(split_corpus(corpus, parse_split("50/50"), SplitOrder::shuffled)[0].pieces,
            split_corpus(corpus, parse_split("50/50"))[0].pieces);
}

TEST(Splits, tiny_shakespeare_gives_the_usual_numbers) {
  UNFOLD_REAL_DATA(path, "tinyshakespeare/input.txt");
  const std::vector<std::string> files{path};
  const Corpus corpus = Corpus::load(files, build_alphabet(files, {SymbolKind::chars}));
  EXPECT_EQ(corpus.alphabet().size(), 65);
  const auto parts = split_corpus(corpus, parse_split("90/10/0"));
  EXPECT_EQ(parts[0].symbols(), 1003854);
  EXPECT_EQ(parts[1].symbols(), 111540);
  EXPECT_EQ(parts[1].bytes(corpus), 111540);
}

TEST(Splits, ParallelByteCountsEqualSequentialCounts) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += std::string(static_cast<std::size_t>(1 + i % 3), 'a') + "  b" + (i % 2 == 0 ? "\n" : " ");
  const Corpus corpus = Corpus::load({Input::from_bytes("one", text), Input::from_bytes("two", "b a\n\na\n")},
                                     Alphabet(SymbolKind::words, {"<eos>", "a", "aa", "aaa", "b"}),
                                     {.unknown = UnknownPolicy::skip, .lines = true});
  for (const char* shares : {"100", "70/30", "33.3/33.3/33.4", "99.9/0.1"})
    for (const Split& part : split_corpus(corpus, parse_split(shares))) {
      Index bytes = 0;
      for (const Piece& piece : part.pieces) bytes += corpus.bytes(piece.sequence, piece.range);
      EXPECT_EQ(part.bytes(corpus), bytes) << shares << part.name;
    }
}

}  // namespace
}  // namespace unfold
