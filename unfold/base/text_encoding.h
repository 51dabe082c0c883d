#pragma once
/// How a text is encoded, where its first bytes say so: the byte order mark of UTF-8, and UTF-16, which nothing here
/// reads.

#include <string>
#include <string_view>

namespace unfold {

/// Without the byte order mark that some programs begin UTF-8 with.
std::string_view without_mark(std::string_view text);

/// What iconv calls the UTF-16 that a text is in, by its mark or by zeros in every second byte; empty: it is none.
std::string_view utf16_of(std::string_view text);
/// Throws DataError, with the name of the file and what to do, where a text is UTF-16.
void refuse_utf16(const std::string& name, std::string_view text);

}  // namespace unfold
