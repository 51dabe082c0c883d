#include "data/tasks/pair_tasks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "unfold/base/error.h"

namespace unfold {
namespace {

struct Pair {
  std::vector<std::string> copies;
  std::string word;
};

std::vector<Pair> pairs_of(const GeneratedPairs& made) {
  std::vector<Pair> result;
  std::istringstream stream(made.text);
  Index symbols = 0, labels = 0;
  for (std::string source, word; std::getline(stream, source, '\t') && std::getline(stream, word);) {
    symbols += static_cast<Index>(source.size());
    labels += static_cast<Index>(word.size());
    result.push_back({.copies = {}, .word = word});
    std::istringstream parts(source + "/");
    for (std::string copy; std::getline(parts, copy, '/');) result.back().copies.push_back(copy);
  }
  EXPECT_EQ(symbols, made.symbols);
  EXPECT_EQ(labels, made.labels);
  return result;
}

TEST(NoisyCopies, copies_without_errors_are_exact) {
  std::map<std::size_t, int> lengths;
  for (const Pair& pair : pairs_of(generate_pairs("noisy-copies:length=5,symbols=3,copies=2,errors=0", 1, 500))) {
    EXPECT_EQ(pair.copies, std::vector<std::string>(2, pair.word));
    EXPECT_EQ(pair.word.find_first_not_of("abc"), std::string::npos);
    ++lengths[pair.word.size()];
  }
  ASSERT_EQ(lengths.size(), 3U);  // 3 to 5
  for (const auto& [length, count] : lengths) EXPECT_NEAR(count, 500 / 3.0, 45) << length;
}

/// For n letters: n + 1 positions for an insertion, and each letter may be deleted or replaced.
TEST(NoisyCopies, copies_have_the_expected_number_of_errors) {
  constexpr double kRate = 0.3 / 3;
  double letters = 0, copies = 0, seen = 0, wrong = 0;
  for (const Pair& pair : pairs_of(generate_pairs("noisy-copies:length=8,copies=3,errors=0.3", 2, 4000)))
    for (const std::string& copy : pair.copies) {
      letters += static_cast<double>(pair.word.size());
      ++copies;
      seen += static_cast<double>(copy.size());
      wrong += copy == pair.word ? 0 : 1;
    }
  const double more = kRate * (letters + copies), fewer = kRate * letters;
  EXPECT_NEAR(seen, letters + more - fewer, 6 * std::sqrt(more + fewer));
  EXPECT_GT(wrong / copies, 0.7);  // 1 - 0.7^6 and so on
}

TEST(NoisyCopies, noisy_copies_depend_on_the_seed_and_reject_invalid_options) {
  const std::string lines = "\n" + generate_pairs("noisy-copies:1,copies=1,errors=1", 1, 100).text;
  EXPECT_EQ(lines.find("\n\t"), std::string::npos);  // no source is empty
  EXPECT_EQ(generate_pairs("noisy-copies", 1, 9).text, generate_pairs("noisy-copies:10", 1, 9).text);
  EXPECT_NE(generate_pairs("noisy-copies", 1, 9).text, generate_pairs("noisy-copies", 2, 9).text);
  EXPECT_TRUE(is_pair_task("noisy-copies:length=4"));
  EXPECT_FALSE(is_pair_task("copies"));
  for (const char* wrong : {"noisy-copies:errors=2", "noisy-copies:symbols=1", "noisy-copies:lenght=3"})
    EXPECT_THROW(generate_pairs(wrong, 1, 1), UsageError) << wrong;
}

}  // namespace
}  // namespace unfold
