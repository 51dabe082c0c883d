#pragma once
/// Tables of text: as Markdown and as aligned text.

#include <string>
#include <vector>

namespace unfold {

/// Columns of numbers are set to the right, the first one and those of words to the left.
struct TextTable {
  std::vector<std::string> heading;
  std::vector<std::vector<std::string>> rows;  ///< as many cells as the heading (UsageError otherwise)
};

std::string to_markdown(const TextTable& table);  ///< a bar in a cell is escaped
std::string to_text(const TextTable& table);      ///< columns two blanks apart, widths counted in characters

}  // namespace unfold
