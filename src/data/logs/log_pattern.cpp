#include "data/logs/log_pattern.h"

#include <fmt/format.h>

#include <array>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::uint32_t kMatchLimit = 1'000'000;

}  // namespace

std::string pattern_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Pattern compile_pattern(const std::string& pattern, const std::string& place, std::uint32_t options) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pattern code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                             PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C | options, &error,
                             &offset, nullptr));
  if (code == nullptr)
    throw UsageError(fmt::format("{}: not a valid regular expression: {}, at its character {}", place,
                                 pattern_message(error), offset + 1));
  return code;
}

PatternMatcher::PatternMatcher()
    : data_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
  if (data_ == nullptr || context_ == nullptr) throw RuntimeFailure("not enough memory for a regular expression");
  pcre2_set_match_limit(context_.get(), kMatchLimit);
}

int PatternMatcher::match(const pcre2_code& pattern, std::string_view line, std::size_t at) const {
  return pcre2_match(&pattern, reinterpret_cast<PCRE2_SPTR>(line.data()), line.size(), at, PCRE2_NO_UTF_CHECK,
                     data_.get(), context_.get());
}

}  // namespace unfold
