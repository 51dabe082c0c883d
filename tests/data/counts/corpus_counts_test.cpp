/// n-grams of a corpus, compared with those of a text with explicit start and end symbols.

#include "data/counts/corpus_counts.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "tests/support/simulated_processes.h"

namespace unfold {
namespace {

using NgramCounts = std::map<std::vector<Code>, std::uint32_t>;

/// Counts every n-gram starting at a symbol or a start symbol, padded with end symbols.
NgramCounts counted_by_hand(const std::vector<std::vector<Code>>& sentences, Index order) {
  NgramCounts result;
  for (const auto& sentence : sentences)
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      std::vector<Code> key(sentence.begin() + static_cast<std::ptrdiff_t>(i),
                            sentence.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(sentence.size(), i + static_cast<std::size_t>(order))));
      key.resize(static_cast<std::size_t>(order), kEndCode);
      ++result[key];
    }
  return result;
}

Corpus corpus_of(const std::string& text) {
  Alphabet alphabet = Alphabet::all_bytes();
  return Corpus::from_text(text, std::move(alphabet));
}

/// The start symbol, then the bytes + 1.
std::vector<Code> sentence(const std::string& text) {
  std::vector<Code> codes = {257};
  for (const char c : text) codes.push_back(static_cast<Code>(static_cast<unsigned char>(c)) + 1);
  return codes;
}

NgramCounts counts_in(int count, const Corpus& corpus, const Split& part, CorpusCountOptions options) {
  NgramCounts result;
  SimulatedNetwork network(count);
  run_in_processes(network, [&](Processes& processes) {
    CorpusCountOptions own = options;
    own.processes = &processes;
    const auto stream = count_ngrams(corpus, part, own);
    EXPECT_EQ(stream != nullptr, processes.first());
    CountedKey key;
    while (stream && stream->next(key)) EXPECT_TRUE(result.emplace(key.codes, key.count).second);
  });
  return result;
}

TEST(CorpusCounts, corpus_counts_equal_sentence_counts_for_any_number_of_processes) {
  const std::string first = "it was\n\nnot to be\nthought of", second = "\nof, to be";
  const Corpus corpus = corpus_of(first + second);
  const auto all = static_cast<Index>(first.size() + second.size()), cut = static_cast<Index>(first.size());
  const Split part{.name = "training", .pieces = {{0, {0, cut}}, {0, {cut, all}}}};
  const std::vector<std::vector<Code>> lines = {sentence("it was\n"),   sentence("\n"), sentence("not to be\n"),
                                                sentence("thought of"), sentence("\n"), sentence("of, to be")};
  for (const Index order : {1, 2, 4, 7})
    for (int count = 1; count <= 5; ++count) {
      EXPECT_EQ(counts_in(count, corpus, part, {.order = order, .line_end = '\n'}), counted_by_hand(lines, order))
          << order << " in " << count;
      EXPECT_EQ(counts_in(count, corpus, part, {.order = order}),
                counted_by_hand({sentence(first), sentence(second)}, order))
          << order << " in " << count;
    }
}

TEST(CorpusCounts, corpus_counts_exceed_a_block_and_the_memory_limit) {
  std::string text;
  std::uint64_t seed = 7;
  for (int i = 0; i < 300000; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    text += static_cast<char>('a' + (seed >> 59));
  }
  const Corpus corpus = corpus_of(text);
  const Split part{.name = "training", .pieces = {{0, {0, static_cast<Index>(text.size())}}}};
  const NgramCounts expected = counted_by_hand({sentence(text)}, 4);
  for (const int count : {1, 3}) EXPECT_EQ(counts_in(count, corpus, part, {.order = 4, .memory = 1}), expected);
}

}  // namespace
}  // namespace unfold
