// The lines of CoNLL-U files that are not positions.
#include "data/readers/conllu_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unfold {
namespace {

std::string token(const std::string& id) { return id + "\tw\t_\t_\t_\t_\t_\t_\t_\t_\n"; }

/// Passes all lines of sentences of the given sizes, with "position" for each position.
std::vector<std::string> passed(const std::vector<Input>& files, const std::vector<int>& sentences) {
  ConlluLines lines(files);
  std::vector<std::string> result;
  const ConlluLines::Use use = [&](std::string_view line) { result.emplace_back(line.substr(0, line.find('\t'))); };
  for (const int size : sentences) {
    for (int i = 0; i < size; ++i) {
      lines.before_position(use);
      result.emplace_back("position");
    }
    lines.end_sentence(use);
    result.emplace_back();
  }
  lines.end(use);
  return result;
}

TEST(ConlluLines, KeepTheirPlaceBetweenThePositions) {
  const std::string first =
      "# text = a\n" + token("1-2") + token("1") + token("2") + token("2.1") + "\n# b\n" + token("1") + "\n# end\n";
  const std::string second = "# one\n\n# two\n" + token("1");
  const std::vector<Input> files = {Input::from_bytes("a", first), Input::from_bytes("b", second)};
  EXPECT_EQ(ConlluLines(files).positions(), 4);
  EXPECT_THAT(passed(files, {2, 1, 1}),
              testing::ElementsAre("# text = a", "1-2", "position", "position", "2.1", "", "# b", "position", "",
                                   "# end", "# one", "# two", "position", ""));
}

TEST(ConlluLines, AFileThatEndsWithoutAnEmptyLineEndsItsSentence) {
  const std::vector<Input> files = {Input::from_bytes("a", token("1")), Input::from_bytes("b", "# two\n" + token("1"))};
  EXPECT_THAT(passed(files, {1, 1}), testing::ElementsAre("position", "", "# two", "position", ""));
}

TEST(ConlluLines, OtherFormatsHaveNone) {
  EXPECT_TRUE(ConlluLines({Input::from_bytes("a", "# 1\nthe DT\ncat NN\n")}).empty());
  EXPECT_TRUE(ConlluLines({Input::from_bytes("a", token("1") + "\n")}).empty());
  EXPECT_FALSE(ConlluLines({Input::from_bytes("a", "# 1\n" + token("1") + "\n")}).empty());
}

}  // namespace
}  // namespace unfold
