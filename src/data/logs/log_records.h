#pragma once
/// Joins the lines of a log to records: the lines of a stack trace belong to the line before them.
///
///   LogRecordJoiner joiner(LogRecordStart({.pattern = "^\\d{4}-"}));
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
///   - contains no time and follows a line that continues the record. This part is left out for logs without times.
/// In addition, the parts of a long line that a container runtime has divided (`TIME stdout P text`, then
/// `TIME stdout F rest`) become one line with the flag and the time of the last and the first part, if they follow each
/// other.
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

/// How lines are joined to records.
struct LogRecordRule {
  /// A regular expression (PCRE2) that the first line of a record matches, anywhere in the line unless it begins with
  /// `^`. Empty: the usual rule.
  std::string pattern = {};
  bool timed = true;        ///< for the usual rule: whether the first lines of records have times
  bool in_training = true;  ///< whether training contained records of several lines
};

/// Decides where a record begins.
class LogRecordStart {
 public:
  /// Throws UsageError for an invalid expression.
  explicit LogRecordStart(const LogRecordRule& rule = {});
  LogRecordStart(LogRecordStart&&) noexcept;
  LogRecordStart& operator=(LogRecordStart&&) noexcept;
  ~LogRecordStart();

  /// `continued`: the line before continues a record. Throws DataError if the expression needs more than a million
  /// steps.
  bool begins(std::string_view line, bool continued) const;
  bool in_training() const { return in_training_; }  ///< see LogRecordRule
  bool is_usual() const { return expression_ == nullptr; }

 private:
  class Expression;
  std::unique_ptr<Expression> expression_;
  bool timed_, in_training_;
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
  /// Returns whether a line may be followed by other lines of its record, so that it is worth waiting for them.
  bool expects_records() const { return start_.in_training(); }
  LogRecord pending() const { return {record_, lines_}; }  ///< the current record; 0 lines: none
  /// Continues with the current record of an earlier run.
  void continue_with(std::string text, Index lines);

 private:
  LogRecordStart start_;
  std::string record_, finished_;
  Index lines_ = 0;
};

/// Returns whether the usual rule applies to a log: among the first lines, at least nine in ten of those that begin a
/// record have a time, and at most one in ten of the others do.
bool begins_records_with_times(std::string_view text);
/// Returns whether a line of the text continues a record.
bool continues_records(std::string_view text, const LogRecordStart& start);
/// Returns the records of a text, one per line; no value if each line is a record.
std::optional<std::string> joined_records(std::string_view text, const LogRecordRule& rule);

}  // namespace unfold
