#pragma once
/// Parts of lines, and errors with file and line, for the decoders and readers of files.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Throws DataError with the file, the line (from 1; 0: none) and the error.
[[noreturn]] void throw_data_error(const std::string& source, Index line, const std::string& what);

inline bool is_line_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
std::string_view without_blanks(std::string_view text);  ///< strips spaces, tabs and line breaks from both ends

/// Calls use(part) for the parts of a line between blanks.
template <class Use>
void for_each_part(std::string_view line, const Use& use) {
  for (std::size_t begin = 0; begin < line.size();) {
    if (is_line_blank(line[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < line.size() && !is_line_blank(line[end])) ++end;
    use(std::string_view(line.data() + begin, end - begin));
    begin = end;
  }
}
/// Split a line at tabs, or at sequences of blanks, and append the parts to `out`.
void split_at(std::string_view line, char separator, std::vector<std::string_view>& out);
void split_at_blanks(std::string_view line, std::vector<std::string_view>& out);

}  // namespace unfold
