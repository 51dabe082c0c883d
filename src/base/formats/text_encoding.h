#pragma once
/// Detection of the text encoding from the first bytes: the UTF-8 byte order mark, and UTF-16, which is not supported.

#include <string>
#include <string_view>

namespace unfold {

/// Returns the text without a UTF-8 byte order mark, which some programs write.
std::string_view strip_bom(std::string_view text);

/// Returns the iconv name of the UTF-16 encoding of a text, detected by its byte order mark or by zeros that are nearly
/// all at even or nearly all at odd places; empty if the text is not UTF-16.
std::string_view detect_utf16(std::string_view text);
/// Throws a DataError that names the file and the remedy if a text is UTF-16.
void reject_utf16(const std::string& name, std::string_view text);

}  // namespace unfold
