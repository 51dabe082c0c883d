#pragma once
/// Parts of lines, and errors with file and line, for the decoders and readers of files.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Throws DataError with the file, the line (from 1; 0: none) and the error.
[[noreturn]] void throw_data_error(const std::string& source, Index line, const std::string& what);

inline bool is_line_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
std::string_view without_blanks(std::string_view text);  ///< strips spaces, tabs and line breaks from both ends

/// Returns one bit for each byte of a block that is a blank, the first byte lowest. The bits after the block are set.
inline constexpr std::size_t kBlankBlock = 64;
std::uint64_t blanks_in(const char* block, std::size_t size);

/// Clears the lowest bit and returns its place.
inline std::size_t take_lowest(std::uint64_t& bits) {
  const auto place = static_cast<std::size_t>(std::countr_zero(bits));
  bits &= bits - 1;
  return place;
}

/// Calls use(part) for the parts of a line between blanks.
template <class Use>
void for_each_part(std::string_view line, const Use& use) {
  std::size_t begin = 0;  // of a part
  bool inside = false;    // within a part
  for (std::size_t block = 0; block < line.size(); block += kBlankBlock) {
    const std::uint64_t blanks = blanks_in(line.data() + block, std::min(line.size() - block, kBlankBlock));
    const std::uint64_t before = blanks << 1 | (inside ? 0 : 1);
    std::uint64_t borders = blanks ^ before;
    if (inside && borders != 0) {
      const std::size_t end = block + take_lowest(borders);
      use(std::string_view(line.data() + begin, end - begin));
      inside = false;
    }
    while (borders != 0) {
      begin = block + take_lowest(borders);
      inside = borders == 0;
      if (inside) break;
      const std::size_t end = block + take_lowest(borders);
      use(std::string_view(line.data() + begin, end - begin));
    }
  }
  if (inside) use(line.substr(begin));
}
/// Split a line at tabs, or at sequences of blanks, and append the parts to `out`.
void split_at(std::string_view line, char separator, std::vector<std::string_view>& out);
void split_at_blanks(std::string_view line, std::vector<std::string_view>& out);

}  // namespace unfold
