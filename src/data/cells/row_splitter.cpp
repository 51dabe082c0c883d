#include "data/cells/row_splitter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "data/cells/date_scan.h"
#include "data/cells/numeric_cell.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace unfold {
namespace {

constexpr std::uint64_t kEachByte = 0x0101010101010101, kHighBits = 0x8080808080808080, kLowBits = ~kHighBits;
constexpr std::size_t kWordBytes = 8;

/// Up to eight bytes, the first one in the lowest bits; the others are zero.
std::uint64_t word_of(const char* bytes, std::size_t size) {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    if (size >= kWordBytes)
      std::memcpy(&word, bytes, kWordBytes);
    else
      std::memcpy(&word, bytes, size);
  } else {
    for (std::size_t i = std::min(size, kWordBytes); i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return word;
}

/// The bytes of a block that end a line, end a cell or line, and are neither of these nor printable ASCII: kMaskBits
/// bits for each byte, the first one lowest; the highest of them is set.
#ifdef __SSE2__
constexpr std::size_t kVectorBytes = 16, kBlockBytes = 4 * kVectorBytes;
constexpr int kMaskBits = 1;
using Mask = std::uint64_t;
#else
constexpr std::size_t kBlockBytes = kWordBytes;
constexpr int kMaskBits = 8;
using Mask = std::uint64_t;
#endif
struct BlockMasks {
  Mask line_ends = 0, ends = 0, unprintable = 0;
};

/// Returns the high bits of the bytes that are not printable ASCII.
std::uint64_t unprintable_bytes(std::uint64_t word) {
  const std::uint64_t low = word & kLowBits;
  return (word | ~(low + kEachByte * 0x60) | (low + kEachByte)) &
         kHighBits;  // bytes beyond ASCII, below 0x20, and 0x7F
}

#ifdef __SSE2__
/// `size`: at least one byte.
[[gnu::always_inline]] inline BlockMasks masks_of(const char* bytes, std::size_t size, char line_end, char cell_end) {
  std::array<char, kBlockBytes> last;
  if (size < kBlockBytes) {
    last = {};
    std::memcpy(last.data(), bytes, size);
    bytes = last.data();
  }
  BlockMasks masks;
  const __m128i line_ends = _mm_set1_epi8(line_end), cell_ends = _mm_set1_epi8(cell_end);
  const auto examine = [&](std::size_t i) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
    const auto mask = [&](__m128i found) {
      return static_cast<Mask>(static_cast<unsigned>(_mm_movemask_epi8(found))) << i;
    };
    const __m128i is_line_end = _mm_cmpeq_epi8(block, line_ends);
    masks.line_ends |= mask(is_line_end);
    masks.ends |= mask(_mm_or_si128(is_line_end, _mm_cmpeq_epi8(block, cell_ends)));
    // As signed bytes, bytes beyond ASCII are negative.
    masks.unprintable |=
        mask(_mm_or_si128(_mm_cmplt_epi8(block, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7F))));
  };
  examine(0);  // without a loop, the compiler knows the shifts
  examine(kVectorBytes);
  examine(2 * kVectorBytes);
  examine(3 * kVectorBytes);
  const Mask present = size < kBlockBytes ? (Mask{1} << size) - 1 : ~Mask{0};
  return {masks.line_ends & present, masks.ends & present, masks.unprintable & ~masks.ends & present};
}
#else
/// Returns the high bits of the bytes that are zero.
std::uint64_t zero_bytes(std::uint64_t word) { return ~(((word & kLowBits) + kLowBits) | word | kLowBits); }

BlockMasks masks_of(const char* bytes, std::size_t size, char line_end, char cell_end) {
  const std::uint64_t word = word_of(bytes, size);
  const std::uint64_t line_ends = zero_bytes(word ^ kEachByte * static_cast<unsigned char>(line_end));
  const std::uint64_t ends = line_ends | zero_bytes(word ^ kEachByte * static_cast<unsigned char>(cell_end));
  const std::uint64_t present = size < kWordBytes ? (std::uint64_t{1} << 8 * size) - 1 : ~std::uint64_t{0};
  return {line_ends & present, ends & present, unprintable_bytes(word) & ~ends & present};
}
#endif

bool is_plain_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte < 0x7F) || c == '\t' || c == '\r' || c == '\n';
}

/// Returns whether all bytes are printable ASCII, tabs or line endings.
bool are_plain(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += kWordBytes) {
    const std::string_view piece = bytes.substr(i, kWordBytes);
    const std::uint64_t found = unprintable_bytes(word_of(piece.data(), piece.size()));
    if ((found != 0 || piece.size() < kWordBytes) && !std::all_of(piece.begin(), piece.end(), is_plain_byte))
      return false;
  }
  return true;
}

/// Writes the cells of a row over those of the preceding row, which takes less time than adding them.
class CellWriter {
 public:
  CellWriter(std::vector<std::string_view>& cells, std::size_t count)
      : cells_(cells), next_(cells.data() + count), end_(cells.data() + cells.size()) {}
  [[gnu::always_inline]] void put(std::string_view cell) {
    if (next_ == end_) {
      next_ = add_to(cells_);
      end_ = next_ + 1;
    }
    *next_++ = cell;
  }
  std::size_t count() const { return static_cast<std::size_t>(next_ - cells_.data()); }

 private:
  [[gnu::noinline]] static std::string_view* add_to(std::vector<std::string_view>& cells) {
    return &cells.emplace_back();
  }

  std::vector<std::string_view>& cells_;
  std::string_view *next_, *end_;
};

}  // namespace

RowSplitter::RowSplitter(char separator, char line_end, std::string comment)
    : separator_(separator),
      cell_end_(separator == kNoCellSeparator ? line_end : separator),
      line_end_(line_end),
      comment_(std::move(comment)) {}

/// Returns the cell without blanks at its ends.
[[gnu::always_inline]] inline std::string_view RowSplitter::cell_of(const char* cell, std::size_t size) const {
  const bool blanks = size > 0 && (cell[0] <= ' ' || cell[size - 1] <= ' ');  // also true for bytes beyond ASCII
  return blanks ? stripped({cell, size}) : std::string_view(cell, size);
}

std::string_view RowSplitter::stripped(std::string_view cell) const {
  const auto blank = [&](char c) { return c == ' ' || c == '\r' || (c == '\t' && separator_ != '\t'); };
  constexpr std::string_view kNoBreak = "\xC2\xA0";
  while (!cell.empty() && (blank(cell.front()) || cell.starts_with(kNoBreak)))
    cell.remove_prefix(cell.starts_with(kNoBreak) ? kNoBreak.size() : 1);
  while (!cell.empty() && (blank(cell.back()) || cell.ends_with(kNoBreak)))
    cell.remove_suffix(cell.ends_with(kNoBreak) ? kNoBreak.size() : 1);
  return cell;
}

/// Removes the blanks around a quoted number or date, with which spreadsheets align numbers: " $563.00 ". Other quoted
/// cells keep their blanks.
std::string_view RowSplitter::without_padding(std::string_view cell) const {
  const std::string_view inner = stripped(cell);
  if (inner.size() == cell.size()) return cell;
  const bool typed = scan_number(inner).shape != NumberShape::none || !split_unit(inner).number.empty() ||
                     scan_date(inner).shape != DateScan::Shape::none;
  return typed ? inner : cell;
}

RowSplitter::Result RowSplitter::next(std::string_view bytes, std::size_t& position, bool last, TableRow& row) {
  const std::size_t size = bytes.size(), begin = position;
  row.line = line_;
  row.comment = row.misplaced_quote = row.carriage_return = row.line_end = false;
  next_line_ = line_;
  used_ = count_ = 0;
  std::size_t i = begin;
  bool printable = false;
  if (!comment_.empty() && bytes.compare(begin, comment_.size(), comment_) == 0) {
    i = std::min(bytes.find(line_end_, begin), size);
    row.comment = true;
  } else {
    printable = true;
    while (unquoted_cells(bytes, i, printable, row)) {
      printable = false;  // quoted cells are checked below
      const Result result = quoted_cell(bytes, i, last, row);
      if (result != Result::row) return result;
      if (i == size || bytes[i] != separator_ || separator_ == kNoCellSeparator) break;
      ++i;
    }
  }
  row.cells.resize(count_);
  if (i >= size && !last) return Result::incomplete;
  row.plain = printable || are_plain(bytes.substr(begin, i - begin));
  row.line_end = i < size;
  row.carriage_return = line_end_ == '\n' && row.line_end && i > begin && bytes[i - 1] == '\r';
  row.bytes = bytes.substr(begin, i - begin - (row.carriage_return ? 1 : 0));
  position = i < size ? i + 1 : i;
  line_ = next_line_ + 1;
  return Result::row;
}

/// Reads cells from `i` on up to the end of the row, or to a cell that begins with a quote; returns whether there is
/// such a cell. Clears `printable` if bytes other than printable ASCII and separators occur. A block of bytes is
/// compared at a time.
bool RowSplitter::unquoted_cells(std::string_view bytes, std::size_t& i, bool& printable, TableRow& row) {
  const std::size_t size = bytes.size();
  const char* const data = bytes.data();
  if (opens_quote(bytes, i)) return true;
  CellWriter cells(row.cells, count_);
  std::size_t start = i;
  Mask unprintable = 0;
  for (std::size_t block = i; block < size; block += kBlockBytes) {
    const BlockMasks masks = masks_of(data + block, size - block, line_end_, cell_end_);
    const Mask line_end = masks.line_ends & -masks.line_ends, before = line_end - 1;  // `before`: in this row
    for (Mask ends = masks.ends & before; ends != 0; ends &= ends - 1) {
      const std::size_t end = block + static_cast<std::size_t>(std::countr_zero(ends)) / kMaskBits;
      cells.put(cell_of(data + start, end - start));
      start = end + 1;
      const bool may_open = start < size && (data[start] == '"' || data[start] == ' ');
      if (std::size_t quote = start; may_open && opens_quote(bytes, quote)) {
        i = quote;
        count_ = cells.count();
        return true;
      }
    }
    unprintable |= masks.unprintable & before;
    if (line_end == 0) continue;
    i = block + static_cast<std::size_t>(std::countr_zero(line_end)) / kMaskBits;
    cells.put(cell_of(data + start, i - start));
    count_ = cells.count();
    printable = printable && unprintable == 0;
    return false;
  }
  cells.put(cell_of(data + start, size - start));
  count_ = cells.count();
  i = size;
  printable = printable && unprintable == 0;
  return false;
}

/// Returns whether a cell begins with a quote, after blanks; if so, moves to the quote.
bool RowSplitter::opens_quote(std::string_view bytes, std::size_t& i) const {
  std::size_t quote = i;
  while (quote < bytes.size() && bytes[quote] == ' ') ++quote;
  if (quote == bytes.size() || bytes[quote] != '"' || !quotes_) return false;
  i = quote;
  return true;
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
  const bool padded = !cell.empty() && (cell.front() <= ' ' || cell.back() <= ' ');
  CellWriter cells(row.cells, count_);
  cells.put(padded ? without_padding(cell) : cell);
  count_ = cells.count();
  return Result::row;
}

}  // namespace unfold
