#include "data/files/line_parts.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace unfold {
namespace {

/// Returns the parts of a line, found character by character.
std::vector<std::string> parts_by_character(std::string_view line) {
  std::vector<std::string> parts;
  bool inside = false;
  for (const char c : line) {
    if (!is_line_blank(c) && !inside) parts.emplace_back();
    inside = !is_line_blank(c);
    if (inside) parts.back() += c;
  }
  return parts;
}

std::vector<std::string> parts_of(std::string_view line) {
  std::vector<std::string> parts;
  for_each_part(line, [&](std::string_view part) { parts.emplace_back(part); });
  return parts;
}

TEST(LineParts, AreTheCharactersBetweenBlanks) {
  EXPECT_EQ(parts_of(""), std::vector<std::string>());
  EXPECT_EQ(parts_of(" \t\r\n"), std::vector<std::string>());
  EXPECT_EQ(parts_of("one"), std::vector<std::string>{"one"});
  EXPECT_EQ(parts_of("  two\twords\r\n"), (std::vector<std::string>{"two", "words"}));
}

TEST(LineParts, OfRandomLinesAreThoseFoundCharacterByCharacter) {
  std::mt19937 random(1);
  constexpr std::string_view kBytes = "a\xC3\xA4\x01\x1F!\v\f\x7F\xFF \t\r\n";
  for (std::size_t size = 0; size < 200; ++size)
    for (const std::size_t blanks : {1, 4, 30}) {
      std::string line(size, 'x');
      for (char& c : line)
        if (random() % blanks == 0) c = kBytes[random() % kBytes.size()];
      EXPECT_EQ(parts_of(line), parts_by_character(line)) << size;
    }
}

TEST(LineParts, MayBeLongerThanABlock) {
  for (const std::size_t size : {63, 64, 65, 127, 128, 129, 1000}) {
    const std::string part(size, 'x');
    EXPECT_EQ(parts_of(part), std::vector<std::string>{part});
    EXPECT_EQ(parts_of(part + " " + part), (std::vector<std::string>{part, part}));
  }
}

TEST(LineParts, HaveOneBitForEachBlank) {
  const std::string line = "a b\tc\r\nd";
  EXPECT_EQ(blanks_in(line.data(), line.size()) & 0xFF, 0b01101010u);
  EXPECT_EQ(blanks_in(line.data(), line.size()) >> 8, ~std::uint64_t{0} >> 8);
  EXPECT_EQ(blanks_in(line.data(), 0), ~std::uint64_t{0});
}

}  // namespace
}  // namespace unfold
