#include "data/logs/log_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/logs/log_lines.h"
#include "data/logs/log_pattern.h"
#include "data/logs/log_time.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kRecordBlanks = " \t\r";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
}

/// Returns whether a line names an exception: "java.io.IOException: closed", "KeyError: 'id'".
bool names_exception(std::string_view line) {
  static constexpr std::array<std::string_view, 3> kEnds = {"Exception", "Error", "Throwable"};
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(line, is_name_char) - line.begin());
  const std::string_view name = line.substr(0, end), rest = line.substr(end);
  const auto is_kind = [&](std::string_view word) { return name.size() > word.size() && name.ends_with(word); };
  return (rest.empty() || rest[0] == ':' || rest[0] == '\r') && std::ranges::any_of(kEnds, is_kind);
}

bool begins_like_trace(std::string_view line) {
  static constexpr std::array<std::string_view, 8> kBeginnings = {
      "at ",
      "Caused by:",
      "Suppressed:",
      "Wrapped by:",
      "Exception in thread ",
      "Traceback (most recent call last)",
      "During handling of the above exception, another exception occurred",
      "The above exception was the direct cause of the following exception"};
  if (line.starts_with("... ") && line.find(" more") != std::string_view::npos) return true;
  return std::ranges::any_of(kBeginnings, [&](std::string_view word) { return line.starts_with(word); }) ||
         names_exception(line);
}

/// Returns whether the first word is a time, after blanks and opening brackets.
bool first_word_is_time(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t[(<"), line.size()));
  const std::optional<LogTime> time = log_time(line);
  return time && time->text.data() == line.data();
}

/// A line of a container runtime (CRI): "2026-03-01T00:00:00.1Z stdout F text".
struct ContainerLine {
  std::string_view stream;
  std::size_t flag = 0, text = 0;  ///< where the flag and the text begin
};

std::optional<ContainerLine> container_line(std::string_view line) {
  constexpr std::size_t kDay = 10;  // characters of YYYY-MM-DD
  const std::size_t time = line.find(' ');
  if (time == std::string_view::npos || time <= kDay || line[kDay] != 'T' || !first_word_is_time(line)) return {};
  for (const std::string_view stream : {" stdout ", " stderr "}) {
    if (!line.substr(time).starts_with(stream)) continue;
    const std::size_t flag = time + stream.size(), text = flag + 2;
    if (text > line.size() || (line[flag] != 'P' && line[flag] != 'F') || line[flag + 1] != ' ') return {};
    return ContainerLine{.stream = stream, .flag = flag, .text = text};
  }
  return {};
}

/// Returns the line that continues a partial line of the same stream; no value if it does not.
std::optional<ContainerLine> continued_part(std::string_view before, std::string_view line) {
  const std::optional<ContainerLine> first = container_line(before);
  if (!first || before[first->flag] != 'P') return {};
  std::optional<ContainerLine> next = container_line(line);
  return next && next->stream == first->stream ? next : std::nullopt;
}

}  // namespace

class LogRecordStart::Expression {
 public:
  explicit Expression(const std::string& pattern) : code_(compile_pattern(pattern, "--record-start")) {
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // if this fails, matching is slower but gives the same result
  }
  bool matches(std::string_view line) const {
    const int found = matcher_.match(*code_, line, 0);
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found < 0)
      throw DataError(
          fmt::format("--record-start exceeds the step limit in the line \"{}...\" ({}); simplify the expression",
                      line.substr(0, 60), pattern_message(found)));
    return true;
  }

 private:
  Pattern code_;
  PatternMatcher matcher_;
};

LogRecordStart::LogRecordStart(const LogRecordRule& rule)
    : expression_(rule.pattern.empty() ? nullptr : std::make_unique<Expression>(rule.pattern)),
      timed_(rule.timed),
      in_training_(rule.in_training) {}
LogRecordStart::LogRecordStart(LogRecordStart&&) noexcept = default;
LogRecordStart& LogRecordStart::operator=(LogRecordStart&&) noexcept = default;
LogRecordStart::~LogRecordStart() = default;

bool LogRecordStart::begins(std::string_view line, bool continued) const {
  if (expression_) return expression_->matches(line);
  const bool empty = line.find_first_not_of(kRecordBlanks) == std::string_view::npos;
  if (empty) return !continued;
  if (kRecordBlanks.find(line[0]) != std::string_view::npos) return first_word_is_time(line);
  if (begins_like_trace(line)) return false;
  return !timed_ || !continued || log_time(line).has_value();
}

std::optional<LogRecord> LogRecordJoiner::add(std::string_view line) {
  const bool has_space = lines_ > 0 && lines_ < kMostLines && record_.size() < kMostBytes;
  if (has_space && start_.is_usual())
    if (const auto part = continued_part(record_, line)) {
      record_[container_line(record_)->flag] = line[part->flag];
      record_.append(line.substr(part->text));
      ++lines_;
      return std::nullopt;
    }
  if (has_space && !start_.begins(line, lines_ > 1)) {
    line.remove_prefix(std::min(line.find_first_not_of(kRecordBlanks), line.size()));
    record_.append(1, ' ').append(kLogLineBreak).append(1, ' ').append(line);
    ++lines_;
    return std::nullopt;
  }
  const std::optional<LogRecord> before = finish();
  record_.assign(line);
  lines_ = 1;
  return before;
}

std::optional<LogRecord> LogRecordJoiner::finish() {
  if (lines_ == 0) return std::nullopt;
  finished_.swap(record_);
  record_.clear();
  return LogRecord{finished_, std::exchange(lines_, 0)};
}

void LogRecordJoiner::continue_with(std::string text, Index lines) {
  record_ = std::move(text);
  lines_ = lines;
}

bool begins_records_with_times(std::string_view text) {
  constexpr Index kLinesForRecords = 20000;
  constexpr std::size_t kBytesForRecords = std::size_t{1} << 24;
  const LogRecordStart start;
  Index begun = 0, timed = 0, continued = 0, timed_within = 0;
  bool within = false;
  for (text = text.substr(0, kBytesForRecords); !text.empty() && begun + continued < kLinesForRecords;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(kRecordBlanks) == std::string_view::npos) continue;
    const bool begins = start.begins(line, within), has_time = log_time(line).has_value();
    within = !begins;
    (begins ? begun : continued) += 1;
    (begins ? timed : timed_within) += has_time;
  }
  return timed > 0 && 10 * timed >= 9 * begun && 10 * timed_within <= continued;
}

bool continues_records(std::string_view text, const LogRecordStart& start) {
  bool any = false, first = true;
  std::string_view before;
  for_each_log_line(text, [&](std::string_view line) {
    any = any || (!first && (!start.begins(line, false) || (start.is_usual() && continued_part(before, line))));
    first = false;
    before = line;
  });
  return any;
}

std::optional<std::string> joined_records(std::string_view text, const LogRecordRule& rule) {
  LogRecordStart start(rule);
  if (!continues_records(text, start)) return std::nullopt;
  LogRecordJoiner joiner(std::move(start));
  std::string records;
  records.reserve(text.size());
  const auto append = [&](const std::optional<LogRecord>& record) {
    if (record) records.append(record->text).append(1, '\n');
  };
  for_each_log_line(text, [&](std::string_view line) { append(joiner.add(line)); });
  append(joiner.finish());
  return records;
}

}  // namespace unfold
