#include "unfold/data/text/text_index.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Returns texts with many duplicates and common beginnings; some contain zeros.
std::vector<std::string> various_texts(int count) {
  Random random(1, "text index test");
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string& text = texts.emplace_back();
    const auto size = static_cast<int>(random.below(12));
    for (int k = 0; k < size; ++k) text += static_cast<char>(k < 6 ? random.below(2) : 'a' + random.below(3));
  }
  return texts;
}

TEST(TextIndex, counts_and_numbers_equal_those_of_a_map) {
  TextCounts<std::string> counts;
  TextIndex index;
  std::vector<std::string> numbered;
  std::unordered_map<std::string, std::int64_t> expected;
  const std::vector<std::string> texts = various_texts(20'000);
  for (const std::string& text : texts) {
    ++counts[text];
    const bool fresh = ++expected[text] == 1;
    EXPECT_EQ(index.find(text, numbered) == TextIndex::kNone, fresh);
    const auto [number, added] = index.add(text, numbered);
    ASSERT_EQ(added, fresh);
    if (fresh) numbered.push_back(text);
    ASSERT_EQ(numbered[number], text);
    ASSERT_EQ(index.find(text, numbered), number);
  }
  EXPECT_EQ(counts.texts(), numbered);
  ASSERT_EQ(counts.texts().size(), expected.size());
  for (const auto& [text, count] : counts.by_text()) EXPECT_EQ(expected[std::string(text)], count);
}

TEST(TextIndex, empty_index_finds_nothing) {
  EXPECT_EQ(TextIndex().find("a", std::vector<std::string>()), TextIndex::kNone);
  EXPECT_EQ(TextIndex().find({}, std::vector<std::string>()), TextIndex::kNone);
}

}  // namespace
}  // namespace unfold
