// Logs on the command line: streamed rows, the most anomalous lines, labels.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

class LogCommandTest : public CommandTest {
 protected:
  LogCommandTest() : log_(folder_ / "x.log") {
    std::string log;
    for (int i = 0; i < 60; ++i) log += "- " + std::to_string(i) + " all is well\r\n";
    write_bytes(log_, log + "KERN 7 all is lost\r\n");
    EXPECT_EQ(unfold_command({"train", log_, "--format", "log", "--out", run_, "--quiet"}).code, 0);
  }
  std::string log_;
};

TEST_F(LogCommandTest, every_log_line_has_a_row) {
  const Finished scored = unfold_command({"score", run_, log_, "--text", "--masked"});
  EXPECT_EQ(scored.code, 0) << scored.err;
  EXPECT_THAT(
      scored.out,
      StartsWith("line\tsymbols\tbits\tbits_per_symbol\tsurprise\ttoken\ttoken_bits\tunreduced\tp_value\tsource\t"
                 "words\torder\tvalues\tlabel\tmasked\ttext\n1\t5\t"));
  EXPECT_THAT(scored.out, HasSubstr("\t-\tnum=12\t12 all is well\n"));
  EXPECT_EQ(std::ranges::count(scored.out, '\n'), 62);
  EXPECT_EQ(std::ranges::count(scored.out, '\r'), 0);
}

TEST_F(LogCommandTest, carriage_returns_end_lines_in_a_log_without_line_feeds) {
  const std::string file = folder_ / "returns.log", state = folder_ / "returns.state";
  std::string log;
  for (int i = 0; i < 60; ++i) log += "12:00:" + std::to_string(10 + i % 50) + " all is well\r";
  write_bytes(file, log);
  EXPECT_THAT(unfold_command({"inspect", file, "--format", "log"}).out, HasSubstr("log of 60 lines"));
  ASSERT_EQ(unfold_command({"train", file, "--format", "log", "--out", run_, "--overwrite", "--quiet"}).code, 0);
  EXPECT_EQ(std::ranges::count(unfold_command({"score", run_, file}).out, '\n'), 61);
  EXPECT_EQ(std::ranges::count(unfold_command({"score", run_, file, "--state", state}).out, '\n'), 61);
  write_bytes(file, log + "12:01:10 all is lost\r");
  EXPECT_THAT(unfold_command({"score", run_, file, "--state", state}).out, StartsWith("61\t"));
}

TEST_F(LogCommandTest, control_characters_are_reported_in_training) {
  const std::string file = folder_ / "binary.log", run = folder_ / "binary";
  std::string log;
  for (int i = 0; i < 60; ++i) log += std::to_string(i) + " all is well\n";
  log[log.find("well", 40)] = '\x01';
  write_bytes(file, log);
  EXPECT_THAT(unfold_command({"train", file, "--out", run}).err, HasSubstr("binary.log contains 1 control characters"));
  EXPECT_THAT(unfold_command({"train", log_, "--out", run, "--overwrite"}).err, Not(HasSubstr("control characters")));
}

TEST_F(LogCommandTest, most_anomalous_lines_come_first) {
  const Finished top = unfold_command({"score", run_, log_, "--top", "1", "--json", "--text"});
  EXPECT_THAT(top.out, StartsWith("{\"line\":61,"));
  EXPECT_THAT(top.out, HasSubstr("\"token\":\"lost\""));
  EXPECT_THAT(top.out, HasSubstr("\"auc_surprise\":1.0"));
  const Finished summary = unfold_command({"score", run_, log_, "--summary"});
  EXPECT_THAT(summary.out, StartsWith("auc_surprise\t1.0\n"));
}

TEST_F(LogCommandTest, standard_input_may_contain_labels) {
  const Finished scored = unfold_command({"score", run_, "-"}, {.input = "- 1 all is well\nKERN 2 all is lost\n"});
  EXPECT_EQ(scored.code, 0) << scored.err;
  EXPECT_THAT(scored.out, HasSubstr("\tKERN\n"));
  EXPECT_EQ(unfold_command({"score", run_, "-"}, {.input = "1 all is well\n"}).code, 0);
  expect_failure({"score", run_, "-"}, 3, "standard input is empty");
}

TEST_F(LogCommandTest, row_is_written_before_the_next_line_arrives) {
  const std::string in = folder_ / "in", out = folder_ / "out";
  ASSERT_EQ(::mkfifo(in.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(out.c_str(), 0600), 0);
  const int reader = ::open(out.c_str(), O_RDONLY | O_NONBLOCK);  // does not wait for a writer
  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);
  Process command({"score", run_, in, "--quiet"}, {.output = out});
  const int writer = ::open(in.c_str(), O_WRONLY);
  std::string seen;
  const auto read_rows = [&](std::ptrdiff_t rows) {
    char buffer[4096];
    while (std::ranges::count(seen, '\n') < rows) {
      const ssize_t got = ::read(reader, buffer, sizeof buffer);
      if (got == 0) break;  // the command has ended
      ASSERT_GT(got, 0);
      seen.append(buffer, static_cast<std::size_t>(got));
    }
  };
  for (int i = 1; i <= 3; ++i) {
    ASSERT_GT(::write(writer, "- 5 all is well\n", 16), 0);
    read_rows(i + 1);  // including the header
    EXPECT_EQ(std::ranges::count(seen, '\n'), i + 1);
  }
  ::close(writer);
  EXPECT_EQ(command.finish().code, 0);
  ::close(reader);
}

/// A constant value has surprisal 0: minus the logarithm of 1, which is a signed zero.
TEST_F(LogCommandTest, log_values_are_scored_individually) {
  const Finished judged = unfold_command({"score", run_, log_, "--by", "value"});
  EXPECT_THAT(judged.err, HasSubstr("(1 of 61 values are in anomalous lines)"));
  const Finished summary = unfold_command({"score", run_, log_, "--by", "value", "--summary"});
  EXPECT_THAT(summary.out, StartsWith("auc_surprise\t"));
  EXPECT_THAT(summary.out, Not(HasSubstr("auc_bits")));
}

/// An empty line has no label and does not affect the labels of other lines.
TEST_F(LogCommandTest, empty_lines_do_not_hide_labels) {
  const std::string file = folder_ / "empty.log";
  for (const std::string& text : {"\n" + read_bytes(log_), read_bytes(log_) + "\n"}) {
    write_bytes(file, text);
    const std::string line = text.front() == '\n' ? "1" : "62";
    const Finished scored = unfold_command({"score", run_, file});  // earlier lines are already scored
    EXPECT_EQ(scored.code, 3);
    EXPECT_THAT(scored.err, HasSubstr(file + ": line " + line + " does not begin with a label"));
    expect_failure({"train", file, "--format", "log", "--out", folder_ / "new", "--quiet"}, 3,
                   file + ": line " + line + " does not begin with a label");
  }
}

TEST_F(LogCommandTest, zero_surprisal_has_no_sign) {
  const std::string same = folder_ / "same.log";
  std::string log;
  for (int i = 0; i < 40; ++i) log += "Jan 5 10:00:01 host sshd[77]: from 10.0.0.1 port 22\n";
  write_bytes(same, log);
  ASSERT_EQ(unfold_command({"train", same, "--format", "log", "--out", run_, "--overwrite", "--quiet"}).code, 0);
  for (const Arguments& how : {Arguments{"--by", "value"}, Arguments{"--by", "line"}}) {
    const Finished rows = unfold_command(Arguments{"score", run_, same} + how);
    EXPECT_EQ(rows.code, 0) << rows.err;
    EXPECT_THAT(rows.out, Not(HasSubstr("-0.0")));
    EXPECT_THAT(unfold_command(Arguments{"score", run_, same, "--json"} + how).out, Not(HasSubstr("-0.0")));
  }
}

TEST_F(LogCommandTest, templates_have_the_identifiers_of_alarms) {
  const std::string file = folder_ / "other.log";
  std::string log;
  for (int i = 0; i < 80; ++i)
    log += i % 4 == 0 ? "disk sda is full\n" : "Accepted password for user from 10.0.0." + std::to_string(i) + "\n";
  write_bytes(file, log);
  ASSERT_EQ(unfold_command({"train", file, "--format", "log", "--out", run_, "--overwrite", "--quiet"}).code, 0);
  const Finished listed = unfold_command({"info", run_, "--templates"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, StartsWith("template\tlines\ttext\n"));
  EXPECT_THAT(listed.out, HasSubstr("\t60\tAccepted password for user from <ip>\n"));
  EXPECT_THAT(listed.out, HasSubstr("\t20\tdisk sda is full\n"));
  const nlohmann::json json = only_object(unfold_command({"info", run_, "--templates", "--json"}).out);
  EXPECT_EQ(json["lines"], 80);
  // The same template has the same identifier in a different model, and in alarms.
  write_bytes(file, log + "disk sdb burns\n");
  const std::string other = folder_ / "other";
  ASSERT_EQ(unfold_command({"train", file, "--format", "log", "--out", other, "--quiet"}).code, 0);
  const nlohmann::json again = only_object(unfold_command({"info", other, "--templates", "--json"}).out);
  EXPECT_EQ(again["templates"][0]["template"], json["templates"][0]["template"]);
  const Finished alarms = unfold_command({"score", run_, file, "--false-alarms", "0.01", "--json"});
  EXPECT_THAT(alarms.out, HasSubstr(again["templates"][2]["template"].get<std::string>())) << alarms.out;
  // info is short and does not print values.
  const Finished info = unfold_command({"info", run_});
  EXPECT_THAT(info.out, HasSubstr("80 lines, 2 templates"));
  EXPECT_THAT(info.out, Not(HasSubstr("10.0.0.")));
  ASSERT_EQ(unfold_command({"train", text_, "--out", run_, "--overwrite", "--model", "ngram:2", "--quiet"}).code, 0);
  expect_failure({"info", run_, "--templates"}, 2, "--templates");
}

TEST_F(LogCommandTest, metrics_count_alarms_by_kind) {
  const std::string metrics = folder_ / "app.prom", state = folder_ / "state";
  const Arguments scoring{"score", run_, log_, "--false-alarms", "0.1", "--metrics", metrics, "--state", state};
  ASSERT_EQ(unfold_command(scoring).code, 0);
  const std::string text = read_bytes(metrics);
  EXPECT_THAT(text, HasSubstr("# TYPE unfold_log_lines_total counter\nunfold_log_lines_total 61\n"));
  EXPECT_THAT(text, HasSubstr("unfold_log_alarms_total{kind=\"template\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("unfold_log_alarms_total{kind=\"new_field\"} 0\n"));
  // The counters continue with the state.
  write_bytes(log_, read_bytes(log_) + "- 61 all is well\r\n");
  ASSERT_EQ(unfold_command(scoring).code, 0);
  EXPECT_THAT(read_bytes(metrics), HasSubstr("unfold_log_lines_total 62\n"));
  EXPECT_THAT(read_bytes(metrics), HasSubstr("unfold_log_alarms_total{kind=\"template\"} 1\n"));
  expect_failure({"score", run_, log_, "--metrics", metrics}, 2, "--metrics requires --false-alarms");
}

/// Fifty lines, every tenth with a stack trace of three lines.
std::string log_with_traces(const std::string& more = {}) {
  std::string log;
  for (int i = 0; i < 50; ++i) {
    const std::string time = "2026-03-01 10:00:" + std::to_string(10 + i) + " ";
    if (i % 10 == 3)
      log += time + "ERROR failed\njava.io.IOException: closed\n\tat a.B.c(B.java:7)\n\tat a.B.d(B.java:9)\n";
    else
      log += time + "INFO all is well\n";
  }
  return log + more;
}

TEST_F(LogCommandTest, stack_traces_are_joined_to_records) {
  const std::string file = folder_ / "java.log", labels = folder_ / "labels", state = folder_ / "state";
  write_bytes(file, log_with_traces());
  const Finished trained = unfold_command({"train", file, "--out", run_, "--overwrite"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("65 lines are read as 50 records: "));
  EXPECT_THAT(unfold_command({"info", run_}).out, HasSubstr("50 lines, 2 templates"));
  EXPECT_EQ(only_object(unfold_command({"eval", run_, file, "--json", "--quiet"}).out)["symbols"], 390);
  const Finished scored = unfold_command({"score", run_, file, "--text"});
  EXPECT_EQ(scored.code, 0) << scored.err;
  EXPECT_EQ(std::ranges::count(scored.out, '\n'), 51);
  EXPECT_THAT(scored.out, HasSubstr("ERROR failed \u240A java.io.IOException: closed \u240A at a.B.c(B.java:7)"));
  EXPECT_THAT(scored.out, HasSubstr("\n4\t")) << "a record has the number of its first line";
  EXPECT_THAT(scored.out, HasSubstr("\n8\t"));
  EXPECT_THAT(scored.out, Not(HasSubstr("\n5\t")));
  EXPECT_THAT(unfold_command({"score", run_, file, "--by", "value", "--top", "1"}).out, Not(HasSubstr("\n5\t")));
  // The label of a record is that of its lines.
  std::string each;
  for (int line = 1; line <= 65; ++line) each += line == 6 ? "bad\n" : "-\n";
  write_bytes(labels, each);
  EXPECT_THAT(unfold_command({"score", run_, file, "--labels", labels}).err,
              HasSubstr("(1 of 50 lines are anomalous)"));
  // With a state, a record that is interrupted by the end of the log is scored as two.
  const std::string whole = log_with_traces("2026-03-01 10:01:01 ERROR failed\n\tat x.Y\n");
  std::string rows;
  for (const std::size_t part : {whole.find("\tat"), whole.size()}) {
    write_bytes(file, whole.substr(0, part));
    const Finished run = unfold_command({"score", run_, file, "--state", state, "--quiet"});
    ASSERT_EQ(run.code, 0) << run.err;
    rows += run.out;
  }
  EXPECT_EQ(std::ranges::count(rows, '\n'), 53) << "the heading and 52 rows";
}

/// Logs without stack traces, with and without times, and with one afterwards.
TEST_F(LogCommandTest, stack_traces_that_training_did_not_contain_are_one_record) {
  const std::string file = folder_ / "app.log", today = folder_ / "today.log", state = folder_ / "state";
  for (const std::string time : {"2026-03-01 10:00:10 ", ""}) {
    std::string log;
    for (int i = 0; i < 100; ++i) log += time + (i % 10 == 3 ? "ERROR failed\n" : "INFO all is well\n");
    write_bytes(file, log);
    const Finished trained = unfold_command({"train", file, "--format", "log", "--out", run_, "--overwrite"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_THAT(trained.err, Not(HasSubstr("records")));
    EXPECT_THAT(unfold_command({"info", run_}).out, HasSubstr("stack traces and indented lines belong to the line"));
    const std::string trace = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'id'\n";
    write_bytes(today, log + time + "ERROR failed\n" + trace + log + time + "ERROR failed\n" + trace);
    const Finished alarms = unfold_command({"score", run_, today, "--false-alarms", "0.005", "--json"});
    ASSERT_EQ(alarms.code, 0) << alarms.err;
    EXPECT_EQ(std::ranges::count(alarms.out, '\n'), 2) << "an alarm and its repetition: " << alarms.out;
    EXPECT_THAT(alarms.out, StartsWith("{\"line\":101,"));
    EXPECT_THAT(alarms.out, HasSubstr("\"first_line\":101,\"last_line\":205,"));
    EXPECT_THAT(alarms.err, HasSubstr("lines 101 to 104 are read as one record"));
    EXPECT_THAT(alarms.err, Not(HasSubstr("lines 205")));
    for (const Arguments& how : {Arguments{}, Arguments{"--state", state}})
      EXPECT_EQ(std::ranges::count(unfold_command(Arguments{"score", run_, today, "--quiet"} + how).out, '\n'), 203);
    std::filesystem::remove(state);
    std::filesystem::remove(state + ".journal");
    ASSERT_EQ(unfold_command({"train", file, "--record-start", "", "--out", run_, "--overwrite", "--quiet"}).code, 0);
    EXPECT_EQ(std::ranges::count(unfold_command({"score", run_, today, "--quiet"}).out, '\n'), 209);
    EXPECT_THAT(unfold_command({"info", run_}).out, HasSubstr("records          each line\n"));
  }
}

std::vector<nlohmann::json> objects(const std::string& lines) {
  std::vector<nlohmann::json> rows;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

/// A line every few seconds of some hours in March 2026.
std::string log_of_hours(int begin, int hours) {
  std::string log;
  const auto two = [](int number) { return std::to_string(100 + number).substr(1); };
  for (int second = begin * 3600; second < (begin + hours) * 3600; second += 2 + second % 5)
    log += "2026-03-01 " + two(second / 3600) + ":" + two(second / 60 % 60) + ":" + two(second % 60) +
           " request served in " + std::to_string(second % 90) + " ms\n";
  return log;
}

TEST_F(LogCommandTest, silences_are_ranked_among_the_lines) {
  const std::string normal = folder_ / "normal.log", today = folder_ / "today.log";
  write_bytes(normal, log_of_hours(0, 4));
  ASSERT_EQ(unfold_command({"train", normal, "--format", "log", "--out", run_, "--overwrite", "--quiet"}).code, 0);
  const std::string before = log_of_hours(10, 1);
  write_bytes(today, before + log_of_hours(12, 1));
  const std::string line = std::to_string(std::ranges::count(before, '\n') + 1);
  const Finished top = unfold_command({"score", run_, today, "--top", "3", "--text"});
  ASSERT_EQ(top.code, 0) << top.err;
  EXPECT_EQ(std::ranges::count(top.out, '\n'), 4);
  EXPECT_THAT(top.out, HasSubstr("\n" + line + "\t\t\t\t")) << top.out;
  EXPECT_THAT(top.out, HasSubstr("\tsilence\t\t\t\tsilence of all lines: 0 lines in "));
  const Finished json = unfold_command({"score", run_, today, "--top", "3", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"source\":\"silence\",\"time\":\"2026-03-01 12:00:00\""));
  EXPECT_THAT(json.out, Not(HasSubstr("\"alarm\"")));
  double last = 1e9;
  for (const nlohmann::json& row : objects(json.out)) {
    EXPECT_LE(row["surprise"], last) << json.out;
    last = row["surprise"];
  }
  EXPECT_THAT(unfold_command({"score", run_, today}).out, Not(HasSubstr("silence"))) << "one row for each line";
  // A burst of several windows is one row.
  std::string burst = log_of_hours(10, 1);
  for (int i = 0; i < 4000; ++i)
    burst += "2026-03-01 11:" + std::to_string(10 + i / 100) + ":00 request served in 7 ms\n";
  write_bytes(today, burst);
  const std::string rows = unfold_command({"score", run_, today, "--top", "5", "--text"}).out;
  EXPECT_THAT(rows, HasSubstr("burst of all lines"));
  EXPECT_EQ(rows.find("burst of all lines"), rows.rfind("burst of all lines")) << rows;
}

/// Without adaptation, the score and the p-value order the lines in the same way.
TEST_F(LogCommandTest, p_value_is_the_rank_of_the_unreduced_score) {
  const std::string normal = folder_ / "normal.log", today = folder_ / "today.log";
  write_bytes(normal, log_of_hours(0, 2));
  ASSERT_EQ(unfold_command({"train", normal, "--format", "log", "--out", run_, "--overwrite", "--quiet"}).code, 0);
  std::string log = log_of_hours(10, 1);
  for (const char* odd : {"disk full", "request served in 99999 ms", "request lost", "request served", "disk lost"})
    log += "2026-03-01 11:00:00 " + std::string(odd) + "\n";
  write_bytes(today, log);
  for (const Arguments& how : {Arguments{}, Arguments{"--fixed"}}) {
    std::vector<std::pair<double, double>> rows;
    bool reduced = false;
    for (const nlohmann::json& row : objects(unfold_command(Arguments{"score", run_, today, "--json"} + how).out)) {
      rows.emplace_back(row["unreduced"], row["p_value"]);
      reduced = reduced || row["surprise"].get<double>() + 1 < row["unreduced"].get<double>();
    }
    EXPECT_EQ(reduced, how.empty());
    if (how.empty()) continue;
    ASSERT_GT(rows.size(), 800U);
    std::ranges::sort(rows);
    for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LE(rows[i].second, rows[i - 1].second) << rows[i].first;
  }
}

TEST_F(LogCommandTest, regular_expression_states_where_records_begin) {
  const std::string file = folder_ / "java.log";
  write_bytes(file, log_with_traces());
  const Finished trained =
      unfold_command({"train", file, "--format", "log", "--record-start", "INFO", "--out", run_, "--overwrite"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("65 lines are read as 45 records\n"));
  EXPECT_EQ(std::ranges::count(unfold_command({"score", run_, file}).out, '\n'), 46);
  ASSERT_EQ(unfold_command({"train", file, "--record-start", "", "--out", run_, "--overwrite"}).code, 0);
  EXPECT_EQ(std::ranges::count(unfold_command({"score", run_, file}).out, '\n'), 66);
  expect_failure({"train", file, "--record-start", "(a", "--out", run_, "--overwrite"}, 2,
                 "--record-start: not a valid regular expression: missing closing parenthesis, at its character 3");
  expect_failure({"train", file, "--record-start", "^nowhere$", "--out", run_, "--overwrite"}, 2,
                 "--record-start: no line matches \"^nowhere$\"");
  expect_failure({"train", text_, "--format", "text", "--record-start", "a", "--out", run_, "--overwrite"}, 2,
                 "--record-start requires --format log");
}

TEST_F(LogCommandTest, record_in_a_pipe_ends_after_a_pause) {
  const std::string file = folder_ / "java.log", in = folder_ / "in", out = folder_ / "out";
  write_bytes(file, log_with_traces());
  ASSERT_EQ(unfold_command({"train", file, "--format", "log", "--out", run_, "--overwrite", "--quiet"}).code, 0);
  ASSERT_EQ(::mkfifo(in.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(out.c_str(), 0600), 0);
  const int reader = ::open(out.c_str(), O_RDONLY | O_NONBLOCK);  // does not wait for a writer
  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);
  Process command({"score", run_, in, "--quiet"}, {.output = out});
  const int writer = ::open(in.c_str(), O_WRONLY);
  std::string seen;
  char buffer[4096];
  for (std::ptrdiff_t rows = 1; rows <= 2; ++rows) {
    const std::string record = "2026-03-01 10:05:00 ERROR failed\n\tat a.B.c(B.java:7)\n";
    ASSERT_EQ(::write(writer, record.data(), record.size()), static_cast<ssize_t>(record.size()));
    while (std::ranges::count(seen, '\n') < rows + 1) {  // including the header
      const ssize_t got = ::read(reader, buffer, sizeof buffer);
      ASSERT_GT(got, 0);
      seen.append(buffer, static_cast<std::size_t>(got));
    }
    EXPECT_EQ(std::ranges::count(seen, '\n'), rows + 1);
  }
  ::close(writer);
  EXPECT_EQ(command.finish().code, 0);
  ::close(reader);
}

/// Sessions of four events; in every twentieth session, two events are swapped.
class SessionCommandTest : public CommandTest {
 protected:
  static constexpr int kSessions = 200;
  /// One session in each line.
  static std::string lines() {
    std::string text;
    for (int i = 0; i < kSessions; ++i)
      text += "blk_" + std::to_string(i) + ",5 9 " + (i % 3 == 0 ? "9 " : "") + "7 4\n";
    return text;
  }
  /// Four lines for each session; two sessions are open at a time. `odd`: the session without its last line.
  static std::string log(int odd) {
    const char* const steps[] = {"opened", "read", "written", "closed"};
    std::string text;
    for (int i = 0; i + 1 < kSessions; i += 2)
      for (int step = 0; step < 4; ++step)
        for (int session = i; session <= i + 1; ++session)
          if (session != odd || step < 3)
            text += "request_id=r" + std::to_string(session) + " file was " + steps[step] + "\n";
    return text;
  }
};

TEST_F(SessionCommandTest, each_line_of_a_file_of_sessions_has_a_row) {
  const std::string normal = folder_ / "normal.txt", other = folder_ / "other.txt", labels = folder_ / "labels";
  write_bytes(normal, lines());
  write_bytes(other, "blk_a,5 9 7 4\nblk_b,5 7 9 4\nblk_c,5 9 8 7 4\nblk_d,5 9 9 7 4\n");
  write_bytes(labels, "-\nodd\nodd\n-\n");
  const Finished trained = unfold_command({"train", normal, "--format", "log", "--out", run_});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("each line is a session of 4 to 5 events: 200 sessions"));
  const Finished scored = unfold_command({"score", run_, other, "--labels", labels});
  EXPECT_THAT(scored.out,
              StartsWith("line\tsession\tfirst_line\tevents\tsurprise\tp_value\tsource\tlabel\tend\treason\n"
                         "1\tblk_a\t1\t4\t"));
  EXPECT_THAT(scored.out, HasSubstr("\todd\tline\tnew event 8\n"));
  EXPECT_THAT(unfold_command({"score", run_, other, "--labels", labels, "--summary"}).out,
              StartsWith("auc_surprise\t1.0\n"));
  const Finished alarms = unfold_command({"score", run_, other, "--false-alarms", "0.01", "--json", "--quiet"});
  EXPECT_THAT(alarms.out, HasSubstr("\"session\":\"blk_c\""));
  EXPECT_THAT(alarms.out, HasSubstr("\"alarm\":\"session\""));
  EXPECT_THAT(alarms.out, Not(HasSubstr("blk_a")));
  expect_failure({"train", normal, "--format", "log", "--out", run_, "--overwrite", "--group", "pid"}, 2,
                 "the most frequent fields are");
}

TEST_F(SessionCommandTest, file_of_sessions_is_recognized_without_a_format) {
  std::string tabs = lines(), bare;
  std::ranges::replace(tabs, ',', '\t');
  for (int i = 0; i < kSessions; ++i) bare += i % 3 == 0 ? "E5 E9 E9 E7 E4\n" : "E5 E9 E7 E4\n";
  const std::string file = folder_ / "sessions.txt", unnamed = folder_ / "sessions", other = folder_ / "events.txt";
  write_bytes(file, lines());
  write_bytes(unnamed, tabs);
  write_bytes(other, bare);
  for (const std::string& sessions : {file, unnamed}) {
    const Finished trained = unfold_command({"train", sessions, "--out", run_, "--overwrite"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_THAT(trained.err, HasSubstr("is read as a log of sessions")) << sessions;
    EXPECT_THAT(trained.err, HasSubstr("200 sessions")) << sessions;
  }
  EXPECT_THAT(unfold_command({"inspect", file}).out, HasSubstr("log of 200 sessions, one in each line, after its id"));
  const Arguments quick{"--model", "ngram:2", "--out", run_, "--overwrite"};
  EXPECT_THAT(unfold_command(Arguments{"train", file} + quick).err, Not(HasSubstr("sessions ("))) << "a model of text";
  const Finished text =
      unfold_command({"train", other, "--steps", "1", "--model", "rnn:4", "--out", run_, "--overwrite"});
  EXPECT_THAT(text.err, HasSubstr("--format log finds unusual sessions")) << "may also be a language";
}

TEST_F(SessionCommandTest, sessions_of_several_lines_end_and_continue_with_the_state) {
  const std::string normal = folder_ / "normal.log", today = folder_ / "today.log", state = folder_ / "state";
  write_bytes(normal, log(-1));
  const Finished trained = unfold_command({"train", normal, "--format", "log", "--group", "request_id", "--out", run_});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("lines with the same request_id form a session of 4 to 4 lines"));
  write_bytes(today, log(77));
  const Finished top = unfold_command({"score", run_, today, "--by", "session", "--top", "1"});
  EXPECT_THAT(top.out, HasSubstr("\tr77\t"));
  EXPECT_THAT(top.out, HasSubstr("\t3\t"));
  // In two runs with a state, every session that has ended is printed once.
  const std::string all = log(77);
  std::string rows;
  for (const std::size_t part : {all.size() / 2, all.size()}) {
    write_bytes(today, all.substr(0, all.find('\n', part - 1) + 1));
    const Finished run = unfold_command({"score", run_, today, "--by", "session", "--state", state, "--quiet"});
    ASSERT_EQ(run.code, 0) << run.err;
    rows += run.out;
  }
  const std::string whole = unfold_command({"score", run_, today, "--by", "session"}).out;
  EXPECT_THAT(whole, StartsWith(rows)) << "open sessions wait for the next run";
  const Finished alarms =
      unfold_command({"score", run_, today, "--by", "session", "--false-alarms", "0.01", "--json", "--quiet"});
  EXPECT_THAT(alarms.out, HasSubstr("\"session\":\"r77\""));
  const nlohmann::json alarm = nlohmann::json::parse(alarms.out.substr(0, alarms.out.find('\n')));
  EXPECT_EQ(alarm.at("alarm"), "session");
  EXPECT_LE(alarm.at("p_value").get<double>(), alarm.at("limit").get<double>());
  EXPECT_GE(alarm.at("limit").get<double>(), 0.01 / 4);
  EXPECT_LE(alarm.at("limit").get<double>(), 0.01 * 8);
  expect_failure({"train", normal, "--format", "log", "--group", "nothing", "--out", run_, "--overwrite"}, 2,
                 "the most frequent fields are request_id");
  expect_failure({"score", run_, today, "--by", "session", "--masked"}, 2, "--by session");
}

TEST_F(LogCommandTest, log_options_are_rejected_for_other_models) {
  ASSERT_EQ(unfold_command({"train", text_, "--out", run_, "--overwrite", "--model", "ngram:2", "--quiet"}).code, 0);
  expect_failure({"score", run_, text_, "--by", "line", "--masked"}, 2, "--format log");
  expect_failure({"train", log_, "--out", run_, "--overwrite", "--format", "lgo"}, 2, "lgo");
}

}  // namespace
}  // namespace unfold::test
