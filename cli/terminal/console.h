#pragma once
/// Output of the command: results go to standard output, everything else to standard error.

#include <chrono>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace unfold {

/// Thrown when the reader of standard output has closed it. This is not reported as an error.
struct ClosedOutput {};
/// Exit code after ClosedOutput: the code of a process killed by SIGPIPE, as with other commands.
inline constexpr int kClosedOutputCode = 141;

/// Writes to standard output, possibly buffered. On a terminal, control characters other than tabs and line feeds are
/// written as escapes (printable.h); otherwise every byte is kept. Throws RuntimeFailure if writing fails (a full
/// disk), and ClosedOutput.
void print_result(std::string_view text);
/// Like print_result, for text with colors, in which the caller has escaped the data: it is written to a terminal
/// unchanged.
void print_styled_result(std::string_view text);
/// Flushes all output. Throws the same errors.
void flush_results();

/// Captures the output of print_result during its lifetime. Must not be nested.
class CapturedResults {
 public:
  CapturedResults();
  ~CapturedResults();
  CapturedResults(const CapturedResults&) = delete;
  CapturedResults& operator=(const CapturedResults&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Standard error: notes, warnings and the progress line. On a terminal, the progress line is rewritten in place;
/// otherwise a line is printed every ten seconds. In quiet mode, there is no progress. Thread-safe.
class Console {
 public:
  explicit Console(bool quiet = false);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void set_quiet(bool quiet) { quiet_ = quiet; }
  bool quiet() const { return quiet_; }
  /// Prints a note on a separate line; suppressed in quiet mode.
  void remark(std::string_view text);
  /// Prints a note followed by a text of several lines, whose line feeds and tabs are kept and whose length is not
  /// bounded.
  void remark(std::string_view text, std::string_view lines);
  /// Prints a line even in quiet mode, for example about lost data.
  void warn(std::string_view text);
  /// Prints `unfold: message` and indented lines below it, even in quiet mode. Line breaks within a text are escaped,
  /// so that a name of a file cannot imitate a message.
  void error(std::string_view message, std::span<const std::string> lines = {});

  /// Returns whether a progress line is due, so that callers format it only then.
  bool due() const;
  /// Returns the width of the terminal; 0 if standard error is not a terminal.
  std::size_t columns() const;
  void progress(std::string_view text);

 private:
  bool is_due() const;
  void line(std::string_view text);
  void clear_line();
  void write(std::string_view text);

  mutable std::mutex mutex_;
  bool quiet_;
  bool terminal_, colors_;
  bool line_open_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// Formats a duration: "0.8 s", "12 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);
/// "950", "12.3 k", "4.56 M".
std::string count_text(double number);

}  // namespace unfold
