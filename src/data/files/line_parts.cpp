#include "data/files/line_parts.h"

#include <fmt/format.h>

#include "unfold/base/error.h"

namespace unfold {

void throw_data_error(const std::string& source, Index line, const std::string& what) {
  throw DataError(line > 0 ? fmt::format("{}: line {}: {}", source, line, what) : fmt::format("{}: {}", source, what));
}

std::string_view without_blanks(std::string_view text) {
  std::size_t begin = 0, end = text.size();
  while (begin < end && is_line_blank(text[begin])) ++begin;
  if (begin == end) return {};
  while (is_line_blank(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

void split_at(std::string_view line, char separator, std::vector<std::string_view>& out) {
  for (std::size_t end = line.find(separator); end != std::string_view::npos; end = line.find(separator)) {
    out.push_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  out.push_back(line);
}

void split_at_blanks(std::string_view line, std::vector<std::string_view>& out) {
  for_each_part(line, [&](std::string_view part) { out.push_back(part); });
}

}  // namespace unfold
