#pragma once
/// Rules that say what in a line of a log is a value and not a word: time stamps, hosts, process ids, numbers,
/// addresses, paths, identifiers. They are plain text that people extend:
///
///   # a rule a line: the name of the placeholder, blanks, a regular expression (PCRE2, on bytes)
///   order  ORD-\d{6}
///   only             # leaves the built-in rules out; without it they follow
///
/// A rule is tried where a token begins and no letter, digit or underscore stands before it; its match must end where
/// none follows. Of several that match, the first in the file wins.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/file.h"

namespace unfold {

struct LogRule {
  std::string name;     ///< of the placeholder, as `num`: lower-case letters, digits and `-`
  std::string pattern;  ///< as it stands in the file
  std::string place;    ///< "FILE: line N", for messages
};

class LogRules {
 public:
  LogRules();  ///< the built-in ones
  /// Those of a text, and then the built-in ones unless it says `only`. Throws UsageError naming `source` and the line
  /// for what is no rule: a name that is none, a missing or faulty expression, one that matches nothing at all.
  static LogRules parse(std::string_view text, const std::string& source);
  static LogRules read(const Input& input) { return parse(input.bytes(), input.name()); }

  const std::vector<LogRule>& rules() const { return rules_; }
  /// A text that gives the same rules: what a model keeps.
  std::string text() const;
  static std::string_view built_in();  ///< with its comments, as it may be copied and changed

 private:
  std::vector<LogRule> rules_;
};

}  // namespace unfold
