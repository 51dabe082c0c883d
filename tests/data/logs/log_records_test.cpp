// Records of several lines in logs.
#include "data/logs/log_records.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "data/logs/log_lines.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;

std::vector<std::string> lines_of_text(std::string_view text) {
  std::vector<std::string> lines;
  for_each_log_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

std::vector<std::string> records_of(const std::string& text, const std::string& pattern = {}) {
  return lines_of_text(joined_records(text, {.pattern = pattern}).value_or(text));
}

TEST(LogRecords, java_stack_trace_belongs_to_the_line_before) {
  EXPECT_EQ(records_of("10:00:00 ERROR failed\n"
                       "java.io.IOException: closed\n"
                       "\tat a.B.c(B.java:7)\n"
                       "Caused by: x.Y: z\n"
                       "at a.B.d(B.java:9)\n"
                       "... 12 more\n"
                       "10:00:01 INFO next\n"),
            (std::vector<std::string>{"10:00:00 ERROR failed ␊ java.io.IOException: closed ␊ at a.B.c(B.java:7) ␊ "
                                      "Caused by: x.Y: z ␊ at a.B.d(B.java:9) ␊ ... 12 more",
                                      "10:00:01 INFO next"}));
}

TEST(LogRecords, python_traceback_belongs_to_the_line_before) {
  EXPECT_EQ(records_of("10:00:00 ERROR failed\n"
                       "Traceback (most recent call last):\n"
                       "  File \"a.py\", line 3, in f\n"
                       "KeyError: 'id'\n"
                       "\n"
                       "During handling of the above exception, another exception occurred:\n"
                       "\n"
                       "Traceback (most recent call last):\n"
                       "  File \"b.py\", line 4, in g\n"
                       "app.errors.Missing: no id\n"
                       "10:00:01 INFO next\n")
                .size(),
            2U);
}

TEST(LogRecords, indented_times_begin_records_but_times_within_do_not) {
  EXPECT_EQ(records_of("10:00:00 got\n"
                       "  {\"created\": \"2024-01-01T00:00:00Z\",\n"
                       "   \"id\": 7}\n"
                       "  [10:00:01] next\n"
                       "last without a time\n"),
            (std::vector<std::string>{"10:00:00 got ␊ {\"created\": \"2024-01-01T00:00:00Z\", ␊ \"id\": 7}",
                                      "  [10:00:01] next", "last without a time"}));
}

TEST(LogRecords, parts_of_a_line_of_a_container_are_joined) {
  EXPECT_EQ(records_of("2026-03-01T00:00:00.1Z stdout F whole\n"
                       "2026-03-01T00:00:00.2Z stdout P long line, \n"
                       "2026-03-01T00:00:00.2Z stdout P its middle\n"
                       "2026-03-01T00:00:00.3Z stdout F  and its end\n"
                       "2026-03-01T00:00:00.4Z stdout F next\n"),
            (std::vector<std::string>{"2026-03-01T00:00:00.1Z stdout F whole",
                                      "2026-03-01T00:00:00.2Z stdout F long line, its middle and its end",
                                      "2026-03-01T00:00:00.4Z stdout F next"}));
  // Other streams, and lines without the form, are separate records.
  EXPECT_EQ(records_of("2026-03-01T00:00:00.2Z stdout P long\n"
                       "2026-03-01T00:00:00.2Z stderr F other\n"
                       "2026-03-01T00:00:00.3Z stdout X end\n")
                .size(),
            3U);
  EXPECT_EQ(records_of("00:00:01 stdout P long\n00:00:02 stdout F end\n").size(), 2U);
}

TEST(LogRecords, regular_expression_matches_the_first_lines) {
  EXPECT_EQ(records_of("> one\nfield 1\nfield 2\n> two\n", "^>"),
            (std::vector<std::string>{"> one ␊ field 1 ␊ field 2", "> two"}));
  EXPECT_EQ(records_of("field 0\n> one\n", "^>"), (std::vector<std::string>{"field 0", "> one"}));
  EXPECT_FALSE(joined_records("a\n b\n", {.pattern = "^"}));
  EXPECT_TRUE(contains(message_of<UsageError>([] { LogRecordStart({.pattern = "(a"}); }),
                       "--record-start: not a valid regular"));
  const std::string slow = "a\n" + std::string(60, 'a') + "\n";
  EXPECT_TRUE(contains(message_of<DataError>([&] { records_of(slow, "(a|a)*b|(aa|a)*c"); }), "step limit"));
}

TEST(LogRecords, without_times_only_traces_and_indented_lines_continue_a_record) {
  const std::string text =
      "request failed\nKeyError: 'id'\nrequest served\nrequest failed\n"
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'id'\n\n"
      "During handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n  File \"b.py\", line 4, in g\napp.errors.MissingError: no id\n"
      "request served\n";
  const std::vector<std::string> records = lines_of_text(joined_records(text, {.timed = false}).value());
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0], "request failed ␊ KeyError: 'id'");
  EXPECT_EQ(records[1], "request served");
  EXPECT_TRUE(records[2].ends_with("app.errors.MissingError: no id"));
  EXPECT_EQ(records[3], "request served");
  EXPECT_TRUE(continues_records("a\n b\n", LogRecordStart({.timed = false})));
  EXPECT_FALSE(continues_records(" a\nb\n\nc\n", LogRecordStart({.timed = false})));
}

TEST(LogRecords, logs_whose_records_begin_with_times_are_recognized) {
  const std::string trace = "2026-03-01 10:00:00 failed\n\tat a.B.c\n\tat a.B.d\n2026-03-01 10:00:01 next\n";
  EXPECT_TRUE(begins_records_with_times(trace));
  EXPECT_TRUE(begins_records_with_times("Mar  1 10:00:00 h x: failed\nKeyError: 7\nValueError: 8\n"));
  EXPECT_TRUE(begins_records_with_times("2026-03-01 10:00:00 failed\n2026-03-01 10:00:01 next\n"));
  EXPECT_TRUE(begins_records_with_times("  10:00:00 a\n  10:00:01 b\n  10:00:02 c\n"));
  EXPECT_FALSE(begins_records_with_times("if x:\n  y\n  z\nelse:\n  z\n"));
  EXPECT_FALSE(begins_records_with_times("10:00:00 a\n 10:00:01 b\n c\n d at 10:00:02\n e at 10:00:03\n"));
  EXPECT_FALSE(begins_records_with_times(" a\n b\n c\n"));
  EXPECT_FALSE(begins_records_with_times(""));
}

TEST(LogRecords, record_is_bounded_and_continues_in_another_run) {
  std::string text = "10:00 begin\n";
  for (int i = 0; i < 2500; ++i) text += " more\n";
  EXPECT_EQ(records_of(text).size(), 3U);
  LogRecordJoiner joiner{LogRecordStart()}, other{LogRecordStart()};
  EXPECT_FALSE(joiner.add("10:00 begin"));
  EXPECT_FALSE(joiner.add(" ␊ more"));
  EXPECT_EQ(joiner.pending().lines, 2);
  other.continue_with(std::string(joiner.pending().text), joiner.pending().lines);
  EXPECT_FALSE(other.add(" more"));
  const std::optional<LogRecord> last = other.finish();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->text, "10:00 begin ␊ ␊ more ␊ more");
  EXPECT_EQ(last->lines, 3);
  EXPECT_FALSE(other.finish());
}

/// Records contain all lines in their order, and the joiner and the reader of whole texts agree.
RC_GTEST_PROP(LogRecords, every_line_is_in_one_record, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "10:00:00 a", "\tat b", "KeyError: 1", "plain", "", "Caused by: c", "  10:00:01 d"));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  LogRecordJoiner joiner{LogRecordStart()};
  std::vector<std::string> records;
  Index count = 0;
  const auto add = [&](const std::optional<LogRecord>& record) {
    if (!record) return;
    records.emplace_back(record->text);
    count += record->lines;
  };
  for (const std::string& line : lines) add(joiner.add(line));
  add(joiner.finish());
  RC_ASSERT(count == static_cast<Index>(lines.size()));
  RC_ASSERT(records == records_of(text));
}

}  // namespace
}  // namespace unfold
