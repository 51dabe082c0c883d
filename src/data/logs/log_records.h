#pragma once
/// Joins the lines of a log to records: the lines of a stack trace belong to the line before them.
///
///   LogRecordJoiner joiner(LogRecordStart("^\\d{4}-"));
///   for (std::string_view line; next(line);)
///     if (const auto record = joiner.add(line)) use(record->text);
///   if (const auto record = joiner.finish()) use(record->text);
///
/// The text of a record is one line in which kLogLineBreak, between blanks, separates the lines without their
/// indentation.
///
/// Without a regular expression, the usual rule applies. It is for logs whose records begin with a time. A line
/// continues a record if it
///   - begins with a blank, but not with a blank and a time;
///   - begins with the words of a stack trace: `at`, `Caused by:`, `... 12 more`, `Traceback`, the name of an
///   exception;
///   - contains no time and follows a line that continues the record.
/// A record has at most kMostLines lines and about kMostBytes bytes; the next line begins a new one.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "unfold/base/types.h"

namespace unfold {

/// The sign for a line break, U+240A.
inline constexpr std::string_view kLogLineBreak = "\xE2\x90\x8A";

/// Decides where a record begins.
class LogRecordStart {
 public:
  /// `pattern`: a regular expression (PCRE2) that the first line of a record matches, anywhere in the line unless it
  /// begins with `^`. Empty: the usual rule. Throws UsageError for an invalid expression.
  explicit LogRecordStart(const std::string& pattern = {});
  LogRecordStart(LogRecordStart&&) noexcept;
  LogRecordStart& operator=(LogRecordStart&&) noexcept;
  ~LogRecordStart();

  /// `continued`: the line before continues a record. Throws DataError if the expression needs more than a million
  /// steps.
  bool begins(std::string_view line, bool continued) const;

 private:
  class Expression;
  std::unique_ptr<Expression> expression_;
};

struct LogRecord {
  std::string_view text;
  Index lines = 1;
};

class LogRecordJoiner {
 public:
  static constexpr Index kMostLines = 1000;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  explicit LogRecordJoiner(LogRecordStart start) : start_(std::move(start)) {}
  /// Adds a line. If it begins a record, returns the record before it, valid until the next call.
  std::optional<LogRecord> add(std::string_view line);
  /// Ends the current record and returns it; no value if there is none.
  std::optional<LogRecord> finish();
  LogRecord pending() const { return {record_, lines_}; }  ///< the current record; 0 lines: none
  /// Continues with the current record of an earlier run.
  void continue_with(std::string text, Index lines);

 private:
  LogRecordStart start_;
  std::string record_, finished_;
  Index lines_ = 0;
};

/// Returns whether a log has records of several lines by the usual rule: among the first lines, at least two continue a
/// record, at most one in ten of these have a time, and at least nine in ten of the others do.
bool has_log_records(std::string_view text);
/// Returns the records of a text, one per line; no value if each line is a record.
std::optional<std::string> joined_records(std::string_view text, const std::string& pattern);

}  // namespace unfold
