#pragma once
/// Regular expressions (PCRE2) for the log reader.
///
///   const Pattern pattern = compile_pattern("^\\d{4}-", "--record-start");
///   const PatternMatcher matcher;
///   if (matcher.match(*pattern, line, 0) > 0) ...

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <string>
#include <string_view>

namespace unfold {

struct FreePattern {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using Pattern = std::unique_ptr<pcre2_code, FreePattern>;

/// Returns the message for a PCRE2 error code.
std::string pattern_message(int code);

/// Compiles an expression over bytes. `options`: PCRE2 options in addition to those that all patterns have. Throws a
/// UsageError that begins with `place` for an invalid expression.
Pattern compile_pattern(const std::string& pattern, const std::string& place, std::uint32_t options = 0);

/// Memory for matching, with a limit on the number of steps.
class PatternMatcher {
 public:
  /// Throws RuntimeFailure if there is not enough memory.
  PatternMatcher();
  /// Returns the result of pcre2_match from byte `at` on: above 0 for a match, otherwise an error code, such as
  /// PCRE2_ERROR_NOMATCH.
  int match(const pcre2_code& pattern, std::string_view line, std::size_t at) const;
  std::size_t end() const { return pcre2_get_ovector_pointer(data_.get())[1]; }  ///< end of the last match
  /// Returns the mark of the last match; null if it has none.
  PCRE2_SPTR mark() const { return pcre2_get_mark(data_.get()); }

 private:
  std::unique_ptr<pcre2_match_data, FreePattern> data_;
  std::unique_ptr<pcre2_match_context, FreePattern> context_;
};

}  // namespace unfold
