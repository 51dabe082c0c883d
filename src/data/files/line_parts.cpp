#include "data/files/line_parts.h"

#include <fmt/format.h>

#include "unfold/base/error.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

#ifdef __SSE2__
std::uint64_t blanks_in(const char* block, std::size_t size) {
  constexpr std::size_t kBytes = 16;
  const auto blanks_at = [](const char* bytes) {
    const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const auto equals = [&](char c) { return _mm_cmpeq_epi8(loaded, _mm_set1_epi8(c)); };
    const __m128i found =
        _mm_or_si128(_mm_or_si128(equals(' '), equals('\t')), _mm_or_si128(equals('\r'), equals('\n')));
    return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(found)));
  };
  std::uint64_t blanks = size < kBlankBlock ? ~std::uint64_t{0} << size : 0;
  std::size_t i = 0;
  for (; i + kBytes <= size; i += kBytes) blanks |= blanks_at(block + i) << i;
  if (i < size && size >= kBytes) return blanks | blanks_at(block + size - kBytes) << (size - kBytes);
  for (; i < size; ++i) blanks |= std::uint64_t{is_line_blank(block[i])} << i;
  return blanks;
}
#else
std::uint64_t blanks_in(const char* block, std::size_t size) {
  std::uint64_t blanks = size < kBlankBlock ? ~std::uint64_t{0} << size : 0;
  for (std::size_t i = 0; i < size; ++i) blanks |= std::uint64_t{is_line_blank(block[i])} << i;
  return blanks;
}
#endif

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
