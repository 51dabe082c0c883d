#include "cli/terminal/comma_rows.h"

#include <algorithm>
#include <utility>

namespace unfold {
namespace {

/// Reverses escape_cell.
std::string unescaped_cell(std::string_view cell) {
  std::string text;
  text.reserve(cell.size());
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\' || i + 1 == cell.size()) {
      text += cell[i];
      continue;
    }
    switch (cell[++i]) {
      case 't': text += '\t'; break;
      case 'n': text += '\n'; break;
      case 'r': text += '\r'; break;
      default: text += cell[i];
    }
  }
  return text;
}

void append_comma_cell(const std::string& text, std::string& row) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    row += text;
    return;
  }
  row += '"';
  for (const char c : text) row += c == '"' ? "\"\"" : std::string(1, c);
  row += '"';
}

std::string comma_row(std::string_view cells) {
  std::string row;
  for (;;) {
    const std::size_t tab = cells.find('\t');
    append_comma_cell(unescaped_cell(cells.substr(0, tab)), row);
    if (tab == std::string_view::npos) return row;
    row += ',';
    cells.remove_prefix(tab + 1);
  }
}

}  // namespace

std::string CommaRows::next(std::string_view piece) {
  std::string rows;
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    pending_ += piece.substr(0, end);
    rows += comma_row(std::exchange(pending_, {})) + '\n';
    piece.remove_prefix(end + 1);
  }
  pending_ += piece;
  return rows;
}

std::string CommaRows::finish() { return pending_.empty() ? std::string() : comma_row(std::exchange(pending_, {})); }

bool is_csv_name(std::string_view path) {
  constexpr std::string_view kEnding = ".csv";
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return path.size() >= kEnding.size() &&
         std::ranges::equal(path.substr(path.size() - kEnding.size()), kEnding, {}, lower);
}

}  // namespace unfold
