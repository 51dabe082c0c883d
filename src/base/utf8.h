#pragma once
/// Strict UTF-8 as defined by the Unicode Standard (chapter 3, table 3-7): no overlong forms, no surrogates, no code
/// points above U+10FFFF, no truncated sequences.

#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

inline constexpr char32_t kNoCodePoint = 0xFFFFFFFF;

/// Returns the offset of the first byte that does not start a valid character; -1 if the whole text is valid.
Index find_invalid_utf8(std::string_view text);

/// Reads the character at `position` (which must lie within the text) and advances past it. Returns kNoCodePoint and
/// does not advance if the bytes are not valid.
char32_t next_code_point(std::string_view text, Index& position);

/// Decodes UTF-8. Throws a DataError that names the offset of the first invalid byte.
std::u32string decode_utf8(std::string_view text);

/// Appends the 1 to 4 bytes of a code point. REQUIRES: it is a Unicode scalar value.
void append_utf8(std::string& text, char32_t code_point);

/// Returns the text with every byte that is not part of valid UTF-8 replaced by U+FFFD. File names may contain any
/// bytes.
std::string replace_invalid_utf8(std::string_view text);

/// Returns whether a code point can be encoded: at most U+10FFFF and not a surrogate.
constexpr bool is_scalar_value(char32_t c) { return c < 0xD800 || (c >= 0xE000 && c <= 0x10FFFF); }

}  // namespace unfold
