#pragma once
/// UTF-8, strict as the Unicode Standard defines it (chapter 3, table 3-7): no overlong forms, no surrogates, nothing
/// above U+10FFFF, nothing cut short.

#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

inline constexpr char32_t kNoCodePoint = 0xFFFFFFFF;

/// The offset of the first byte that starts no valid character; -1 when the whole text is valid.
Index find_invalid_utf8(std::string_view text);

/// True if all bytes are below 0x80.
bool is_ascii(std::string_view text);

/// Reads the character at `position` (which must lie within the text) and advances past it; kNoCodePoint, and no
/// advance, where the bytes are not valid.
char32_t next_code_point(std::string_view text, Index& position);

/// Decodes a valid text. Throws DataError naming the offset of the first invalid byte.
std::u32string decode_utf8(std::string_view text);

/// Appends the 1 to 4 bytes of a code point, which must be a Unicode scalar value.
void append_utf8(std::string& text, char32_t code_point);
std::string encode_utf8(std::u32string_view code_points);

/// The text with U+FFFD in the place of every byte that is not part of valid UTF-8: names of files may hold anything.
std::string replace_invalid_utf8(std::string_view text);

/// True for a code point that UTF-8 may carry: at most U+10FFFF and no surrogate.
constexpr bool is_scalar_value(char32_t c) { return c < 0xD800 || (c >= 0xE000 && c <= 0x10FFFF); }

}  // namespace unfold
