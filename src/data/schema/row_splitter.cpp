#include "data/schema/row_splitter.h"

#include <algorithm>
#include <utility>

namespace unfold {

RowSplitter::RowSplitter(char separator, char line_end, std::string comment)
    : separator_(separator), line_end_(line_end), comment_(std::move(comment)) {
  for (std::size_t c = 0; c < classes_.size(); ++c) classes_[c] = c < 0x20 || c >= 0x7F ? special : ordinary;
  classes_['\t'] = ordinary;
  classes_['\r'] = ordinary;
  if (separator_ != kNoCellSeparator) classes_[static_cast<unsigned char>(separator_)] = ends_cell;
  classes_[static_cast<unsigned char>(line_end_)] = ends_cell;
}

std::string_view RowSplitter::stripped(std::string_view cell) const {
  const auto blank = [&](char c) { return c == ' ' || c == '\r' || (c == '\t' && separator_ != '\t'); };
  while (!cell.empty() && blank(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && blank(cell.back())) cell.remove_suffix(1);
  return cell;
}

RowSplitter::Result RowSplitter::next(std::string_view bytes, std::size_t& position, bool last, TableRow& row) {
  const std::size_t size = bytes.size(), begin = position;
  row.cells.clear();
  row.line = line_;
  row.comment = row.misplaced_quote = row.carriage_return = row.line_end = false;
  next_line_ = line_;
  used_ = 0;
  unsigned seen = 0;
  std::size_t i = begin;
  if (!comment_.empty() && bytes.compare(begin, comment_.size(), comment_) == 0) {
    i = std::min(bytes.find(line_end_, begin), size);
    row.comment = true;
  } else {
    for (;;) {
      std::size_t start = i;
      while (start < size && bytes[start] == ' ') ++start;
      if (start < size && bytes[start] == '"' && quotes_) {
        const std::size_t from = start;
        const Result result = quoted_cell(bytes, start, last, row);
        if (result != Result::row) return result;
        for (std::size_t k = from; k < start; ++k) seen |= classes_[static_cast<unsigned char>(bytes[k])];
        i = start;
      } else {
        while (i < size) {
          const unsigned char kind = classes_[static_cast<unsigned char>(bytes[i])];
          if (kind == ends_cell) break;
          seen |= kind;
          ++i;
        }
        row.cells.push_back(stripped(bytes.substr(start, i - std::min(start, i))));
      }
      if (i < size && bytes[i] == separator_ && separator_ != kNoCellSeparator) {
        ++i;
        continue;
      }
      break;
    }
  }
  if (i >= size && !last) return Result::incomplete;
  row.plain = (seen & special) == 0;
  row.line_end = i < size;
  row.carriage_return = line_end_ == '\n' && row.line_end && i > begin && bytes[i - 1] == '\r';
  row.bytes = bytes.substr(begin, i - begin - (row.carriage_return ? 1 : 0));
  position = i < size ? i + 1 : i;
  line_ = next_line_ + 1;
  return Result::row;
}

RowSplitter::Result RowSplitter::quoted_cell(std::string_view bytes, std::size_t& i, bool last, TableRow& row) {
  const std::size_t begin = i + 1;
  std::string* unescaped = nullptr;
  std::size_t from = begin;
  std::string_view cell;
  for (;;) {
    const std::size_t quote = bytes.find('"', from);
    if (quote == std::string_view::npos || (quote + 1 == bytes.size() && !last)) {
      return last ? Result::unclosed_quote : Result::incomplete;
    }
    const std::string_view piece = bytes.substr(from, quote - from);
    next_line_ += std::count(piece.begin(), piece.end(), line_end_);
    const bool doubled = quote + 1 < bytes.size() && bytes[quote + 1] == '"';
    if (doubled && unescaped == nullptr) {
      if (used_ == unescaped_.size()) unescaped_.emplace_back();
      unescaped = &unescaped_[used_++];
      unescaped->clear();
    }
    if (unescaped != nullptr) unescaped->append(piece).append(doubled ? "\"" : "");
    from = quote + 2;
    if (doubled) continue;
    cell = unescaped != nullptr ? std::string_view(*unescaped) : bytes.substr(begin, quote - begin);
    i = quote + 1;
    break;
  }
  while (i < bytes.size() && classes_[static_cast<unsigned char>(bytes[i])] != ends_cell) {
    row.misplaced_quote = row.misplaced_quote || (bytes[i] != ' ' && bytes[i] != '\r');
    ++i;
  }
  row.cells.push_back(cell);
  return Result::row;
}

}  // namespace unfold
