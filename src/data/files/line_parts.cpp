#include "data/files/line_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kLineBlanks = " \t\r";

}  // namespace

void throw_data_error(const std::string& source, Index line, const std::string& what) {
  throw DataError(line > 0 ? fmt::format("{}: line {}: {}", source, line, what) : fmt::format("{}: {}", source, what));
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kLineBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kLineBlanks) + 1 - begin);
}

void split_at(std::string_view line, char separator, std::vector<std::string_view>& out) {
  for (std::size_t end = line.find(separator); end != std::string_view::npos; end = line.find(separator)) {
    out.push_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  out.push_back(line);
}

void split_at_blanks(std::string_view line, std::vector<std::string_view>& out) {
  for (;;) {
    const std::size_t begin = line.find_first_not_of(kLineBlanks);
    if (begin == std::string_view::npos) return;
    const std::size_t end = std::min(line.find_first_of(kLineBlanks, begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

}  // namespace unfold
