#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace unfold {
namespace {

constexpr std::size_t kMostQuoted = 100;                // maximum number of bytes of a quoted value
constexpr std::size_t kWordBegin = 100, kWordEnd = 50;  // bytes kept at the beginning and at the end of a longer word
constexpr std::size_t kMessageBegin = 800, kMessageEnd = 400;  // bytes kept at the beginning and at the end of a longer
                                                               // message

struct Escaping {
  bool line_feeds = true, tabs = true, backslashes = false;
};

void append_escaped(std::string& out, std::string_view text, const Escaping& what) {
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const Index begin = position;
    const char32_t c = next_code_point(text, position);
    if (c == kNoCodePoint) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[static_cast<std::size_t>(position++)]));
    } else if (c == '\n' && what.line_feeds) {
      out += "\\n";
    } else if (c == '\t' && what.tabs) {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\\' && what.backslashes) {
      out += "\\\\";
    } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else if (c >= 0x80 && c < 0xA0) {
      out += fmt::format("\\u{{{:X}}}", static_cast<unsigned>(c));
    } else {
      out += text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(position - begin));
    }
  }
}

std::string escaped_text(std::string_view text, const Escaping& what) {
  std::string out;
  out.reserve(text.size());
  append_escaped(out, text, what);
  return out;
}

/// Returns a valid UTF-8 text. If it is longer than `begin` + `end` bytes plus the ellipsis, the middle is omitted.
std::string without_middle(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::size_t kMark = 24;
  if (text.size() <= begin + end + kMark) return std::string(text);
  const auto inside = [](char c) { return (c & 0xC0) == 0x80; };  // a continuation byte of UTF-8
  std::size_t last = text.size() - end;
  while (begin > 0 && inside(text[begin])) --begin;
  while (last < text.size() && inside(text[last])) ++last;
  return fmt::format("{} ... ({} bytes) ... {}", text.substr(0, begin), last - begin, text.substr(last));
}

/// Returns the number of bytes at the end of a text that may be the beginning of an incomplete character.
std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t count = 1; count <= std::min<std::size_t>(3, text.size()); ++count) {
    const auto lead = static_cast<unsigned char>(text[text.size() - count]);
    if ((lead & 0xC0) == 0x80) continue;
    const std::size_t needed = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
    return needed > count ? count : 0;
  }
  return 0;
}

constexpr Escaping kDisplayed{.line_feeds = false, .tabs = false};

}  // namespace

std::string escape_controls(std::string_view text) { return escaped_text(text, {}); }

std::string escape_value(std::string_view text) { return escaped_text(text, {.backslashes = true}); }

std::string escape_cell(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\\': out += "\\\\"; break;
      default: out += c;
    }
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  return fmt::format("\"{}\"", without_middle(escape_value(text), kMostQuoted * 2 / 3, kMostQuoted / 3));
}

std::string bounded_message(std::string_view text) {
  const std::string line = escape_controls(text);
  std::string out;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    out += without_middle(std::string_view(line).substr(begin, end - begin), kWordBegin, kWordEnd);
    if (end < line.size()) out += ' ';
    begin = end + 1;
  }
  return without_middle(out, kMessageBegin, kMessageEnd);
}

std::string TerminalText::next(std::string_view piece) {
  std::string text = std::exchange(pending_, {}).append(piece);
  const std::size_t unfinished = unfinished_bytes(text);
  pending_ = text.substr(text.size() - unfinished);
  text.resize(text.size() - unfinished);
  return escaped_text(text, kDisplayed);
}

std::string TerminalText::finish() { return escaped_text(std::exchange(pending_, {}), kDisplayed); }

}  // namespace unfold
