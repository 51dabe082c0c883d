#pragma once
/// Rules that define which parts of a log line are values and not words: time stamps, host names, process ids, numbers,
/// addresses, paths, identifiers. They are plain text that users can extend:
///
///   # one rule per line: the name of the placeholder, blanks, a regular expression (PCRE2, on bytes)
///   order  ORD-\d{6}
///   only             # excludes the built-in rules; without it they follow
///
/// A rule is tried where a token begins, unless a letter, digit or underscore precedes it; no such character may follow
/// the match. If several rules match, the first one in the file is used.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/file.h"

namespace unfold {

struct LogRule {
  std::string name;     ///< name of the placeholder, such as `num`: lower-case letters, digits and `-`
  std::string pattern;  ///< regular expression, as written in the file
  std::string place;    ///< "FILE: line N", for messages
};

class LogRules {
 public:
  LogRules();  ///< the built-in rules
  /// Parses the rules in a text and appends the built-in ones unless the text says `only`. Throws a UsageError that
  /// gives `source` and the line of an invalid rule: an invalid name, a missing or invalid expression, an expression
  /// that matches the empty string.
  static LogRules parse(std::string_view text, const std::string& source);
  static LogRules read(const Input& input) { return parse(input.bytes(), input.name()); }

  const std::vector<LogRule>& rules() const { return rules_; }
  /// Returns a text that parses to the same rules; it is stored in models.
  std::string text() const;
  static std::string_view built_in();  ///< text of the built-in rules with comments, as a starting point for users

 private:
  std::vector<LogRule> rules_;
};

}  // namespace unfold
