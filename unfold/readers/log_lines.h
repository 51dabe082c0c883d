#pragma once
/// Lines of logs as words of a language: values become typed placeholders, the rest is cut into words and marks.
///
///   LogScanner scanner(LogRules{});
///   LogLine line;
///   scanner.scan("Dec 10 06:55:46 web sshd[24200]: Invalid user bob from 10.0.0.7", line);
///   line.shape;      // "<time> <host> sshd [ <pid> ] : Invalid user bob from <ip>"
///   line.masked[3];  // {"ip", "10.0.0.7"}
///
/// Where no rule (log_rules.h) matches, a token is a word (letters, digits, `_`, `$` and everything beyond ASCII; `-`
/// or `.` between a word's character and a letter belong to it) or one character of any other kind. Bytes that are not
/// UTF-8 read as U+FFFD. Time is linear in the length of a line, for the built-in rules.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/readers/log_rules.h"

namespace unfold {

struct MaskedValue {
  std::string_view name;  ///< of the rule; lives as long as the scanner
  std::string_view text;  ///< of the line, or of `LogLine::repaired`
};

struct LogLine {
  std::string shape;                ///< tokens with single blanks between them, valid UTF-8
  std::vector<MaskedValue> masked;  ///< in the order of their placeholders in `shape`
  std::string repaired;             ///< the line with U+FFFD for what is not UTF-8; empty where nothing was
};

class LogScanner {
 public:
  /// Throws UsageError naming the place of a faulty expression.
  explicit LogScanner(const LogRules& rules);
  LogScanner(LogScanner&&) noexcept;
  LogScanner& operator=(LogScanner&&) noexcept;
  ~LogScanner();

  /// A line without its line end; carriage returns are blanks. `line` must outlive the use of `out`. Throws DataError
  /// when people's own rules cannot decide within a million steps at one place.
  void scan(std::string_view line, LogLine& out) const;

 private:
  class Matcher;
  std::unique_ptr<Matcher> matcher_;
};

/// The label of lines that are as they should be, where lines carry labels.
inline constexpr std::string_view kNormalLabel = "-";

/// Whether the first column of a log holds labels, as in the logs of supercomputers: in the first thousand lines it is
/// `-` at least once and otherwise one word of capital letters, digits and underscores.
bool begins_with_labels(std::string_view text);
/// Whether one line may begin with such a label.
bool begins_with_label(std::string_view line);

/// The shapes of all lines, a line each.
struct LogShapes {
  std::string text;
  Index lines = 0, different = 0;
};
/// `see` is given every line.
LogShapes shapes_of(std::string_view text, const LogScanner& scanner,
                    const std::function<void(const LogLine&)>& see = nullptr);

/// Replaces the words that stand only once in a text of shapes by `<unk>`: models trained by gradient learn from them
/// what a word that they do not know is like. Returns how many words that were.
Index make_rare_words_unknown(std::string& shapes);

}  // namespace unfold
