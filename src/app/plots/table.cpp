#include "app/plots/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

void check(const TextTable& table) {
  for (const auto& row : table.rows)
    if (row.size() != table.heading.size())
      throw UsageError(
          fmt::format("table: a row has {} cells, but there are {} headings", row.size(), table.heading.size()));
}

/// Returns the number of characters in UTF-8 text.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Returns whether a cell is treated as a number: it is empty or "-", or begins like a number: "-0.5", "**12**", "9 of
/// 10".
bool is_number(const std::string& cell) {
  const std::size_t begin = cell.find_first_not_of("*-+. ");
  return begin == std::string::npos || (cell[begin] >= '0' && cell[begin] <= '9');
}

/// Returns for each column whether it is right-aligned.
std::vector<bool> sides(const TextTable& table) {
  std::vector<bool> right(table.heading.size());
  for (std::size_t c = 1; c < right.size(); ++c)
    right[c] = std::ranges::all_of(table.rows, [&](const auto& row) { return is_number(row[c]); });
  return right;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? "\\|" : std::string(1, c);
    line += " |";
  }
  return line + '\n';
}

}  // namespace

std::string to_markdown(const TextTable& table) {
  check(table);
  std::string text = markdown_row(table.heading) + "|";
  for (const bool right : sides(table)) text += right ? " ---: |" : " --- |";
  text += '\n';
  for (const auto& row : table.rows) text += markdown_row(row);
  return text;
}

std::string to_text(const TextTable& unescaped) {
  check(unescaped);
  TextTable table = unescaped;
  for (std::string& cell : table.heading) cell = escape_controls(cell);
  for (auto& row : table.rows)
    for (std::string& cell : row) cell = escape_controls(cell);
  std::vector<std::size_t> widths;
  for (const std::string& cell : table.heading) widths.push_back(width(cell));
  for (const auto& row : table.rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  const std::vector<bool> right = sides(table);
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string result;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string blanks(widths[c] - width(cells[c]), ' ');
      result += (c == 0 ? "" : "  ") + (right[c] ? blanks + cells[c] : cells[c] + blanks);
    }
    return result.substr(0, result.find_last_not_of(' ') + 1) + '\n';
  };
  std::string text = line(table.heading);
  for (const auto& row : table.rows) text += line(row);
  return text;
}

}  // namespace unfold
