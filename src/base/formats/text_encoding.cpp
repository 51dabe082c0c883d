#include "base/formats/text_encoding.h"

#include <fmt/format.h>

#include <array>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF", kLittleMark = "\xFF\xFE", kBigMark = "\xFE\xFF";
/// Number of bytes to examine (two per character), and the minimum number of characters for a decision.
constexpr std::size_t kFirstBytes = 4096, kFewest = 8;

}  // namespace

std::string_view strip_bom(std::string_view text) { return text.starts_with(kMark) ? text.substr(kMark.size()) : text; }

std::string_view detect_utf16(std::string_view text) {
  if (text.starts_with(kLittleMark) || text.starts_with(kBigMark)) return "UTF-16";
  text = text.substr(0, kFirstBytes);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < text.size(); ++i) zeros[i % 2] += text[i] == '\0';
  const std::size_t characters = text.size() / 2;
  if (characters < kFewest) return {};
  // Characters with zeros in both bytes are not text; a truncated log may end in a block of zeros.
  if (zeros[0] == 0 && 2 * zeros[1] > characters) return "UTF-16LE";
  if (zeros[1] == 0 && 2 * zeros[0] > characters) return "UTF-16BE";
  return {};
}

void reject_utf16(const std::string& name, std::string_view text) {
  if (const std::string_view encoding = detect_utf16(text); !encoding.empty())
    throw DataError(
        fmt::format("{} is UTF-16, and text is read as UTF-8; convert it: iconv -f {} -t UTF-8 FILE", name, encoding));
}

}  // namespace unfold
