#pragma once
/// Converts log lines to templates: values are replaced with typed placeholders, and the rest is split into words and
/// punctuation.
///
///   LogScanner scanner(LogRules{});
///   LogLine line;
///   scanner.scan("Dec 10 06:55:46 web sshd[24200]: Invalid user bob from 10.0.0.7", line);
///   line.shape;      // "<time> <host> sshd [ <pid> ] : Invalid user bob from <ip>"
///   line.masked[3];  // {"ip", "10.0.0.7"}
///
/// A scanner with `fields` also finds the values of named fields: `key=value`, `key="value"` and `"key": value`, as in
/// logfmt and JSON. A value without blanks is one masked value, whose name is the name of the rule that matches all of
/// it, or `word`. The masked value includes the key.
///
/// Where no rule (log_rules.h) matches, a token is a word (letters, digits, `_`, `$` and everything beyond ASCII; `-`
/// or `.` between a character of a word and a letter is part of the word) or one character of any other kind. Bytes
/// that are not valid UTF-8 are read as U+FFFD. With the built-in rules, time is linear in the length of a line.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/logs/log_rules.h"

namespace unfold {

struct MaskedValue {
  std::string_view name;      ///< name of the rule; valid as long as the scanner
  std::string_view text;      ///< part of the line, or of `LogLine::repaired`
  std::string_view key = {};  ///< the key of a named field; part of the line like `text`
};

/// The name of masked values that no rule describes: values of named fields, and words that vary freely.
inline constexpr std::string_view kWordValue = "word";

struct LogLine {
  std::string shape;                ///< tokens separated by single blanks, valid UTF-8
  std::vector<MaskedValue> masked;  ///< masked values in the order of their placeholders in `shape`
  std::string repaired;             ///< the line with invalid UTF-8 replaced with U+FFFD; empty if the line is valid
};

class LogScanner {
 public:
  /// Throws a UsageError that gives the place of an invalid regular expression.
  explicit LogScanner(const LogRules& rules, bool fields = false);
  LogScanner(LogScanner&&) noexcept;
  LogScanner& operator=(LogScanner&&) noexcept;
  ~LogScanner();

  /// Scans a line without its line ending; carriage returns count as blanks. `line` must stay valid while `out` is
  /// used. Throws DataError if user-defined rules need more than a million matching steps at one position.
  void scan(std::string_view line, LogLine& out) const;

 private:
  class Matcher;
  std::unique_ptr<Matcher> matcher_;
  bool fields_;
};

/// The label of normal lines in labeled logs.
inline constexpr std::string_view kNormalLabel = "-";

/// Returns whether the first column of a log holds labels, as in supercomputer logs: in the first thousand lines it is
/// `-` at least once and otherwise one word of capital letters, digits and underscores.
bool begins_with_labels(std::string_view text);
/// Returns whether a line may begin with such a label.
bool begins_with_label(std::string_view line);

/// The templates of all lines, one per line.
struct LogTemplates {
  std::string text;
  Index lines = 0, different = 0;
};
/// `read` scans a line; `see` is called for every line.
LogTemplates shapes_of(std::string_view text, const std::function<void(std::string_view, LogLine&)>& read,
                       const std::function<void(const LogLine&)>& see = nullptr);
/// Calls `use` for every line of a text, without line endings and byte order mark.
void for_each_log_line(std::string_view text, const std::function<void(std::string_view)>& use);

/// Replaces words that occur only once in a text of templates with `<unk>`. Models trained by gradient descent thus
/// learn a representation of unknown words. Returns the number of replaced words.
Index make_rare_words_unknown(std::string& shapes);

}  // namespace unfold
