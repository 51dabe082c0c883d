#pragma once
/// Tables of text: as Markdown and as aligned text.

#include <string>
#include <vector>

namespace unfold {

/// The first column is set to the left, the others to the right.
struct TextTable {
  std::vector<std::string> heading;
  std::vector<std::vector<std::string>> rows;  ///< as many cells as the heading (UsageError otherwise)
};

std::string to_markdown(const TextTable& table);  ///< a bar in a cell is escaped
std::string to_text(const TextTable& table);      ///< columns two blanks apart, widths counted in characters

}  // namespace unfold
