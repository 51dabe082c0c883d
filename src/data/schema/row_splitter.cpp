#include "data/schema/row_splitter.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace unfold {
namespace {

constexpr std::uint64_t kEachByte = 0x0101010101010101, kHighBits = 0x8080808080808080;

std::uint64_t eight_bytes(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// The high bit of the first byte that is zero, and perhaps of later ones (Mycroft's test).
std::uint64_t zero_bytes(std::uint64_t word) { return (word - kEachByte) & ~word & kHighBits; }

/// The position of the first of two characters; the size if there is none.
std::size_t find_either(std::string_view bytes, std::size_t i, char a, char b) {
  const std::uint64_t each_a = kEachByte * static_cast<unsigned char>(a),
                      each_b = kEachByte * static_cast<unsigned char>(b);
  if constexpr (std::endian::native == std::endian::little) {
    for (; i + 8 <= bytes.size(); i += 8) {
      const std::uint64_t word = eight_bytes(bytes.data() + i);
      const std::uint64_t found = zero_bytes(word ^ each_a) | zero_bytes(word ^ each_b);
      if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(found)) / 8;
    }
  }
  while (i < bytes.size() && bytes[i] != a && bytes[i] != b) ++i;
  return i;
}

bool is_plain_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte < 0x7F) || c == '\t' || c == '\r' || c == '\n';
}

/// Whether all bytes are printable ASCII, tabs or line ends.
bool are_plain(std::string_view bytes) {
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const std::uint64_t word = eight_bytes(bytes.data() + i);
    const std::uint64_t below_space = (word - kEachByte * 0x20) & ~word,
                        deleted = zero_bytes(word ^ (kEachByte * 0x7F));
    if (((word | below_space | deleted) & kHighBits) == 0) continue;
    if (!std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin() + static_cast<std::ptrdiff_t>(i + 8),
                     is_plain_byte))
      return false;
  }
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.end(), is_plain_byte);
}

}  // namespace

RowSplitter::RowSplitter(char separator, char line_end, std::string comment)
    : separator_(separator),
      cell_end_(separator == kNoCellSeparator ? line_end : separator),
      line_end_(line_end),
      comment_(std::move(comment)) {}

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
  std::size_t i = begin;
  if (!comment_.empty() && bytes.compare(begin, comment_.size(), comment_) == 0) {
    i = std::min(bytes.find(line_end_, begin), size);
    row.comment = true;
  } else {
    for (;;) {
      std::size_t start = i;
      while (start < size && bytes[start] == ' ') ++start;
      if (start < size && bytes[start] == '"' && quotes_) {
        const Result result = quoted_cell(bytes, start, last, row);
        if (result != Result::row) return result;
        i = start;
      } else {
        i = find_either(bytes, i, cell_end_, line_end_);
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
  row.plain = are_plain(bytes.substr(begin, i - begin));
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
  while (i < bytes.size() && bytes[i] != cell_end_ && bytes[i] != line_end_) {
    row.misplaced_quote = row.misplaced_quote || (bytes[i] != ' ' && bytes[i] != '\r');
    ++i;
  }
  row.cells.push_back(cell);
  return Result::row;
}

}  // namespace unfold
