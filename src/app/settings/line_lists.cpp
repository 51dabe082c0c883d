#include "app/settings/line_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace unfold {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

std::size_t words_in(std::string_view line) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < line.size(); ++i)
    words += !is_blank(line[i]) && (i == 0 || is_blank(line[i - 1])) ? 1 : 0;
  return words;
}

/// Line counts, and sums over lines.
struct LineCounts {
  std::size_t lines = 0, empty = 0, odd = 0, lettered = 0, characters = 0, words = 0;
  std::unordered_set<std::string_view> distinct = {};

  void add(std::string_view line) {
    constexpr std::size_t kLongItem = 40, kManyWords = 4;
    constexpr std::string_view kEndsOfCode = ";{}),:=>";
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++lines;
    if (line.empty()) {
      ++empty;
      return;
    }
    const std::size_t own = words_in(line);
    distinct.insert(line);
    characters += line.size();
    words += own;
    lettered += std::ranges::any_of(line, is_letter) ? 1 : 0;
    odd += line.size() > kLongItem || own > kManyWords || is_blank(line.front()) ||
                   kEndsOfCode.find(line.back()) != std::string_view::npos
               ? 1
               : 0;
  }
  double share(std::size_t count) const { return static_cast<double>(count) / static_cast<double>(lines); }

  bool are_items() const {
    constexpr double kDistinct = 0.8, kOdd = 0.03, kEmpty = 0.01, kLettered = 0.5, kLength = 20, kWords = 2;
    return lines >= kFewestItems && share(distinct.size()) >= kDistinct && share(odd) <= kOdd &&
           share(empty) <= kEmpty && share(lettered) >= kLettered && share(characters) <= kLength &&
           share(words) <= kWords;
  }
};

}  // namespace

std::string guess_item_lines(std::string_view text) {
  const bool cut = text.size() > kReadForLines;
  text = text.substr(0, kReadForLines);
  LineCounts counts;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos && cut) break;
    counts.add(text.substr(0, end));
    text.remove_prefix(std::min(end == std::string_view::npos ? text.size() : end + 1, text.size()));
  }
  if (!counts.are_items()) return {};
  constexpr double kPercent = 100;
  return fmt::format("{} short lines, {:.0f} % of them different", counts.lines,
                     std::floor(kPercent * counts.share(counts.distinct.size())));
}

}  // namespace unfold
