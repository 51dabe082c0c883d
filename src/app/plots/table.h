#pragma once
/// Tables formatted as Markdown and as aligned text.

#include <string>
#include <vector>

namespace unfold {

/// A table. Numeric columns are right-aligned; the first column and text columns are left-aligned.
struct TextTable {
  std::vector<std::string> heading;
  std::vector<std::vector<std::string>> rows;  ///< rows with as many cells as `heading`; otherwise UsageError
};

std::string to_markdown(const TextTable& table);  ///< escapes vertical bars in cells
std::string to_text(const TextTable& table);      ///< columns two spaces apart; width is counted in characters

}  // namespace unfold
