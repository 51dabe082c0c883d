#include "base/utf8.h"

#include <fmt/format.h>

#include <cstring>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080u;

std::uint8_t byte_at(std::string_view text, Index i) {
  return static_cast<std::uint8_t>(text[static_cast<std::size_t>(i)]);
}

/// Returns the first position at or after `position` whose byte is not ASCII, or the end.
Index skip_ascii(std::string_view text, Index position) {
  const Index size = static_cast<Index>(text.size());
  while (position + 8 <= size) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + position, sizeof word);
    if ((word & kHighBits) != 0) break;
    position += 8;
  }
  while (position < size && byte_at(text, position) < 0x80) ++position;
  return position;
}

}  // namespace

char32_t next_code_point(std::string_view text, Index& position) {
  const std::uint8_t lead = byte_at(text, position);
  if (lead < 0x80) {
    ++position;
    return lead;
  }
  if (lead < 0xC2 || lead > 0xF4) return kNoCodePoint;  // continuation byte, overlong form, or above U+10FFFF
  const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  if (static_cast<Index>(text.size()) - position <= more) return kNoCodePoint;
  char32_t code = lead & (0x3F >> more);
  for (int i = 1; i <= more; ++i) {
    const std::uint8_t next = byte_at(text, position + i);
    if ((next & 0xC0) != 0x80) return kNoCodePoint;
    code = (code << 6) | (next & 0x3F);
  }
  const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
  if (overlong || !is_scalar_value(code)) return kNoCodePoint;
  position += more + 1;
  return code;
}

Index find_invalid_utf8(std::string_view text) {
  const Index size = static_cast<Index>(text.size());
  for (Index position = skip_ascii(text, 0); position < size; position = skip_ascii(text, position)) {
    if (next_code_point(text, position) == kNoCodePoint) return position;
  }
  return -1;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  for (Index bad = find_invalid_utf8(text); bad >= 0; bad = find_invalid_utf8(text)) {
    out += text.substr(0, static_cast<std::size_t>(bad));
    append_utf8(out, 0xFFFD);
    text.remove_prefix(static_cast<std::size_t>(bad) + 1);
  }
  return out.append(text);
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const char32_t code = next_code_point(text, position);
    if (code == kNoCodePoint) {
      throw DataError(fmt::format("byte 0x{:02X} at offset {} is not valid UTF-8", byte_at(text, position), position));
    }
    out.push_back(code);
  }
  return out;
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace unfold
