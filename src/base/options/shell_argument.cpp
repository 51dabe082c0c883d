#include "base/options/shell_argument.h"

#include <algorithm>

namespace unfold {
namespace {

bool is_plain_in_shell(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  const bool beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
  return letter || beyond_ascii || std::string_view("-_./:,=+%@").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_argument(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain_in_shell)) return std::string(text);
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

}  // namespace unfold
