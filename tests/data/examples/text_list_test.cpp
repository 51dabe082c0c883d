#include "unfold/data/examples/text_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {
namespace {

using Strings = std::vector<std::string>;

/// A list whose ends have 8 bits, so that texts of a few hundred bytes exceed them.
using SmallEnds = BasicTextList<std::uint8_t>;

template <class List>
Strings strings_of(const List& list) {
  return {list.begin(), list.end()};
}

/// Texts of 0 to `longest` bytes.
Strings random_texts(std::size_t count, std::size_t longest, unsigned seed) {
  std::mt19937 random(seed);
  Strings texts(count);
  for (std::string& text : texts) {
    text.resize(random() % (longest + 1));
    for (char& c : text) c = static_cast<char>('a' + random() % 26);
  }
  return texts;
}

TEST(TextList, IsEmptyAtFirst) {
  const TextList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(list.bytes(), 0u);
  EXPECT_EQ(list.begin(), list.end());
  EXPECT_EQ(list, TextList());
}

TEST(TextList, KeepsTextsInOrder) {
  TextList list = {"red", "", "green"};
  list.push_back(std::string("blue\0yellow", 11));
  EXPECT_EQ(strings_of(list), (Strings{"red", "", "green", std::string("blue\0yellow", 11)}));
  EXPECT_EQ(list.front(), "red");
  EXPECT_EQ(list.back().size(), 11u);
  EXPECT_EQ(list.bytes(), 19u);
  EXPECT_EQ(list[Index{2}], "green");
  EXPECT_EQ(list[std::size_t{1}], "");
}

TEST(TextList, HasTheContentsOfAVectorOfStrings) {
  const Strings texts = random_texts(2000, 40, 1);
  TextList list;
  SmallEnds small;
  for (const std::string& text : texts) {
    list.push_back(text);
    small.push_back(text);
  }
  EXPECT_EQ(strings_of(list), texts);
  EXPECT_EQ(strings_of(small), texts);
  EXPECT_EQ(strings_of(TextList(texts.begin(), texts.end())), texts);
}

TEST(TextList, KeepsTextsLongerThanItsEndsCanCount) {
  SmallEnds list;
  Strings texts = {"a", std::string(255, 'b'), std::string(256, 'c'), "", std::string(1000, 'd'), "e", ""};
  for (const std::string& text : texts) list.push_back(text);
  EXPECT_EQ(strings_of(list), texts);
  EXPECT_EQ(list.bytes(), 1513u);
  const SmallEnds copy = list;
  EXPECT_EQ(copy, list);
  list.resize(4);
  texts.resize(4);
  EXPECT_EQ(strings_of(list), texts);
  list.push_back("f");
  list.push_back(std::string(300, 'g'));
  texts.insert(texts.end(), {"f", std::string(300, 'g')});
  EXPECT_EQ(strings_of(list), texts);
}

template <class List>
void expect_parts_appended(std::size_t longest) {
  const Strings texts = random_texts(60, longest, 2), more = random_texts(50, longest, 3);
  const List from(more.begin(), more.end());
  for (const std::size_t begin : {0, 1, 20, 49, 50})
    for (const std::size_t end : {50, 49, 21}) {
      if (begin > end) continue;
      List list(texts.begin(), texts.end());
      list.append(from, begin, end);
      Strings expected = texts;
      for (std::size_t i = begin; i < end; ++i) expected.push_back(more[i]);
      EXPECT_EQ(strings_of(list), expected) << begin << " to " << end;
    }
}

TEST(TextList, AppendsPartsOfOtherLists) {
  expect_parts_appended<TextList>(30);
  expect_parts_appended<SmallEnds>(30);
  expect_parts_appended<SmallEnds>(2);
}

TEST(TextList, CopiesPartsOfALongerText) {
  const std::string text =
      "one two three four five six seven eight, nine and twenty-one antidisestablishmentarianism x";
  const Strings words = {"one", "three", "antidisestablishmentarianism", "x", ""};
  for (const std::size_t reserved : {0, 3, 100}) {
    TextList list;
    list.reserve(reserved, reserved);
    for (const std::string& word : words)
      list.push_back(std::string_view(text).substr(text.find(word), word.size()), text.data() + text.size());
    EXPECT_EQ(strings_of(list), words);
  }
}

TEST(TextList, AcceptsItsOwnTexts) {
  TextList list = {"first text, longer than the memory of a short string"};
  for (int i = 0; i < 100; ++i) list.push_back(list[0]);
  EXPECT_EQ(list.size(), 101u);
  EXPECT_TRUE(std::ranges::all_of(list, [&](std::string_view text) { return text == list.front(); }));
}

TEST(TextList, ResizesWithEmptyTexts) {
  TextList list = {"a", "b"};
  list.resize(4);
  EXPECT_EQ(strings_of(list), (Strings{"a", "b", "", ""}));
  list.resize(1);
  EXPECT_EQ(strings_of(list), Strings{"a"});
  list.push_back("c");
  EXPECT_EQ(strings_of(list), (Strings{"a", "c"}));
  list.clear();
  EXPECT_TRUE(list.empty());
  list.assign(3, "go");
  EXPECT_EQ(strings_of(list), (Strings{"go", "go", "go"}));
}

TEST(TextList, ReplacesATextByALongerOrShorterOne) {
  const Strings texts = random_texts(40, 30, 4);
  SmallEnds list(texts.begin(), texts.end());
  Strings expected = texts;
  for (const std::size_t i : {0, 39, 17, 20}) {
    expected[i] = std::string(10 * i, 'x');
    list.replace(i, expected[i]);
    EXPECT_EQ(strings_of(list), expected);
  }
}

TEST(TextList, ConvertsFromAVectorOfStrings) {
  const Strings texts = {"a", "", "bc"};
  const TextList list = texts;
  EXPECT_EQ(list, texts);
  TextList characters;
  characters.emplace_back(3, 'z');
  characters.emplace_back();
  EXPECT_EQ(characters, (Strings{"zzz", ""}));
}

TEST(TextList, IsEqualToListsWithTheSameTexts) {
  const TextList list = {"ab", "c"};
  EXPECT_EQ(list, (TextList{"ab", "c"}));
  EXPECT_NE(list, (TextList{"a", "bc"}));
  EXPECT_NE(list, TextList{"ab"});
  EXPECT_NE(list, (TextList{"ab", "d"}));
}

TEST(TextList, CopiesAndMoves) {
  TextList list = {"ab", "c"};
  TextList copy = list;
  copy.push_back("d");
  EXPECT_EQ(list, (TextList{"ab", "c"}));
  TextList moved = std::move(copy);
  EXPECT_EQ(moved, (TextList{"ab", "c", "d"}));
  list = std::move(moved);
  EXPECT_EQ(list, (TextList{"ab", "c", "d"}));
  list = TextList();
  EXPECT_TRUE(list.empty());
  copy = {"e"};
  EXPECT_EQ(copy, TextList{"e"});
}

TEST(TextList, IteratesAtRandomPlaces) {
  const TextList list = {"a", "b", "c", "d"};
  static_assert(std::random_access_iterator<TextList::Iterator>);
  EXPECT_EQ(list.end() - list.begin(), 4);
  EXPECT_EQ(*(list.begin() + 2), "c");
  EXPECT_EQ(list.begin()[3], "d");
  EXPECT_LT(list.begin(), list.end());
  EXPECT_EQ(std::ranges::find(list, "b") - list.begin(), 1);
  EXPECT_TRUE(std::ranges::binary_search(list, std::string_view("d")));
}

}  // namespace
}  // namespace unfold
