#pragma once
/// The cells of a table, recorded while its schema is inferred, so that a reader need not divide the rows and parse the
/// numbers a second time.
///
/// A cell takes eight bytes, its place in the bytes of the table. Columns that contain only numbers with a decimal
/// point also have the values, which a reader can move.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "data/schema/inference/column_profile.h"
#include "unfold/base/raw_memory.h"

namespace unfold {

class TableCells {
 public:
  /// The values of one column.
  struct Numbers {
    bool complete = true;  ///< all entries are numbers with a decimal point or integers; otherwise there are no values
    bool plain = true;     ///< every cell is the shortest text of its value, or empty
    std::vector<double> values = {};  ///< 0 for missing entries
    std::vector<char> missing = {};   ///< one flag per entry; empty: none is missing
  };

  /// `bytes` must outlive the object.
  explicit TableCells(std::string_view bytes)
      : bytes_(bytes), addressable_(std::min<std::uint64_t>(bytes.size(), kLargestOffset + 1)) {}

  void begin(std::size_t columns) { numbers_.resize(columns); }
  void add_row(const std::vector<std::string_view>& cells, Index line);
  /// Records the cells that were added last to the profiles of all columns.
  void add_numbers(const std::vector<std::string_view>& cells, const std::vector<ColumnProfile>& profiles);

  Index rows() const { return static_cast<Index>(lines_.size()); }
  std::string_view cell(Index row, std::size_t column) const {
    const std::uint64_t place = places_.data()[at(row) * numbers_.size() + column];
    if ((place & kElsewhere) != 0) return elsewhere_[place & ~kElsewhere];
    return {bytes_.data() + (place >> kSizeBits), place & kLargestSize};
  }
  /// Returns the end of the bytes that can be read from the beginning of a cell on.
  const char* readable(std::string_view cell) const {
    const auto offset = reinterpret_cast<std::uintptr_t>(cell.data()) - reinterpret_cast<std::uintptr_t>(bytes_.data());
    return offset < bytes_.size() ? bytes_.data() + bytes_.size() : cell.data() + cell.size();
  }
  Numbers& numbers(std::size_t column) { return numbers_[column]; }
  /// Returns the line of each row; the object no longer has them.
  std::vector<Index> take_lines() { return std::move(lines_); }

 private:
  static constexpr int kSizeBits = 24;
  static constexpr std::uint64_t kLargestSize = (std::uint64_t{1} << kSizeBits) - 1,
                                 kElsewhere = std::uint64_t{1} << 63, kLargestOffset = (kElsewhere >> kSizeBits) - 1;

  void reserve();
  std::uint64_t place_of(std::string_view cell) {
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(cell.data()) -
        reinterpret_cast<std::uintptr_t>(bytes_.data());  // large if the cell is not in `bytes_`
    return offset < addressable_ && cell.size() <= kLargestSize ? offset << kSizeBits | cell.size()
                                                                : place_elsewhere(cell);
  }
  std::uint64_t place_elsewhere(std::string_view cell);
  static void add_number(std::string_view cell, const ColumnProfile& profile, Numbers& numbers);
  static void add_unusual(std::string_view cell, const ColumnProfile& profile, bool simple, Numbers& numbers);

  std::string_view bytes_;
  std::uint64_t addressable_;          ///< the places of cells in this many bytes can be recorded
  RawMemory<std::uint64_t> places_;    ///< offset and size of each cell, row by row; kElsewhere: index of `elsewhere_`
  std::deque<std::string> elsewhere_;  ///< cells with doubled quotes
  std::vector<Index> lines_;
  std::vector<Numbers> numbers_;
};

}  // namespace unfold
