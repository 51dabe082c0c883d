#pragma once
/// Parts of lines, and errors with file and line, for the decoders and readers of files.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Throws DataError with the file, the line (from 1; 0: none) and the error.
[[noreturn]] void throw_data_error(const std::string& source, Index line, const std::string& what);

std::string_view without_blanks(std::string_view text);  ///< strips spaces, tabs and carriage returns from both ends

/// Split a line at tabs, or at sequences of blanks, and append the parts to `out`.
void split_at(std::string_view line, char separator, std::vector<std::string_view>& out);
void split_at_blanks(std::string_view line, std::vector<std::string_view>& out);

}  // namespace unfold
