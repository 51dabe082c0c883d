#include "base/formats/text_encoding.h"

#include <fmt/format.h>

#include <array>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF", kLittleMark = "\xFF\xFE", kBigMark = "\xFE\xFF";
/// Number of bytes to examine (two per character), and the minimum number of characters with a zero byte.
constexpr std::size_t kFirstBytes = 4096, kFewest = 5;
/// Every eighth character must have a zero byte, like blanks, digits and separators in scripts other than Latin. Few
/// characters, such as some emoji, have one at the other place.
constexpr std::size_t kPart = 8;

}  // namespace

std::string_view strip_bom(std::string_view text) { return text.starts_with(kMark) ? text.substr(kMark.size()) : text; }

std::string_view detect_utf16(std::string_view text) {
  if (text.starts_with(kLittleMark) || text.starts_with(kBigMark)) return "UTF-16";
  text = text.substr(0, kFirstBytes);
  const std::size_t characters = text.size() / 2;
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < 2 * characters; i += 2) {
    // Characters with zeros in both bytes are not text; a truncated log may end in a block of zeros.
    if (text[i] == '\0' && text[i + 1] == '\0') return {};
    zeros[0] += text[i] == '\0' ? 1 : 0;
    zeros[1] += text[i + 1] == '\0' ? 1 : 0;
  }
  const auto prevail = [&](std::size_t place) {
    return zeros[place] >= kFewest && kPart * zeros[place] >= characters && kPart * zeros[1 - place] <= zeros[place];
  };
  return prevail(1) ? "UTF-16LE" : prevail(0) ? "UTF-16BE" : std::string_view();
}

void reject_utf16(const std::string& name, std::string_view text) {
  if (const std::string_view encoding = detect_utf16(text); !encoding.empty())
    throw DataError(
        fmt::format("{} is UTF-16, and text is read as UTF-8; convert it: iconv -f {} -t UTF-8 FILE", name, encoding));
}

}  // namespace unfold
