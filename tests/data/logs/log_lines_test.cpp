// Rules for logs, and their scanner.
#include "data/logs/log_lines.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "data/logs/log_time.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;

std::string shape_of(std::string_view line, const LogRules& rules = {}) {
  LogLine result;
  LogScanner(rules).scan(line, result);
  return result.shape;
}

TEST(LogLines, values_of_known_logs_become_placeholders) {
  const std::vector<std::pair<std::string, std::string>> table = {
      // syslog
      {"Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster from 173.234.31.186",
       "<time> <host> sshd [ <pid> ] : Invalid user webmaster from <ip>"},
      {"Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure; logname= uid=0",
       "<time> <host> sshd ( pam_unix ) [ <pid> ] : authentication failure ; logname = uid = <num>"},
      {"2024-05-01T10:11:12.345678+02:00 web-1 kernel: oops", "<time> <host> kernel : oops"},
      // a supercomputer
      {"1117838570 2005.06.03 R02-M1-N0-C:J12-U11 2005-06-03-15.42.50.675872 R02-M1-N0-C:J12-U11 RAS KERNEL INFO "
       "generating core.1165",
       "<num> <time> <id> <time> <id> RAS KERNEL INFO generating core . <num>"},
      {"iar 00106570 dear 0x00544eb0 ffffffff", "iar <hex> dear <hex> <hex>"},
      // Hadoop, Apache
      {"081109 203615 148 INFO dfs.DataNode$PacketResponder: block blk_-38865049064139660 terminating",
       "<time> <num> INFO dfs.DataNode$PacketResponder : block <id> terminating"},
      {"[Sun Dec 04 04:47:44 2005] [notice] workerEnv.init() ok /etc/httpd/conf/workers2.properties",
       "[ <time> ] [ notice ] workerEnv.init ( ) ok <path>"},
      {"127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a.gif HTTP/1.0\" 200 2326",
       "<ip> - - [ <time> ] \" GET <path> HTTP / <num> \" <num> <num>"},
      // the rest
      {"ff:ff:ff:ff:0a:0B up", "<mac> up"},
      {"fe80::1ff:fe23:4567:890a up", "<ip> up"},
      {"id 123e4567-e89b-12d3-a456-426614174000 done", "id <id> done"},
      {"see https://example.org/a?b=c. Mail a.b@example.org", "see <url> . Mail <mail>"},
      {"rhost=ns.example.com took -1.5ms of 64KB", "rhost = <host> took <num> of <num>"},
      // base64
      {"user=ann token=/VAX/bi+H66nopu3XS3RXP6MUTqflQ7cRy6 ok", "user = ann token = <id> ok"},
      {"token=GDIzg+jKI8+PfRYhmRnIhGmAA8csJrWP, token=+ZngdpADn0UcmMDL1/4SyNLgZF8zMcai", "token = <id> , token = <id>"},
      {"RSA SHA256:8eere2eL4fd9j9KMf6aF2K92b/rBMK4LoLC6oKDihcL from", "RSA <id> : <id> from"},
      {"digest dGhpcyBpcyBhIHRlc3Qgb2Y3== done", "digest <id> done"},
      {"GET /files/aB3cD4eF5gH6iJ7kL8mN9 from org/apache/hadoop/hdfs/DFSClient",
       "GET <path> from org / apache / hadoop / hdfs / DFSClient"},
      {"double-hummer alignment in idotransportmgr.cpp", "double-hummer alignment in idotransportmgr.cpp"},
  };
  for (const auto& [line, shape] : table) EXPECT_EQ(shape_of(line), shape) << line;
}

TEST(LogLines, dates_of_any_order_are_part_of_the_time) {
  const std::vector<std::string> times = {
      "02-Mar-2026 10:11:12.123",  "02.03.2026 10:11:12",        "02 Mar 2026 10:11:12",
      "02-03-2026 10:11:12,123",   "03/02/2026 10:11:12 AM",     "3/2/2026, 9:11:12 PM",
      "02/03/2026 10:11:12",       "26/03/02 10:11:12",          "2026-Mar-02 10:11:12",
      "Mar 02, 2026 10:11:12",     "Mar 2, 2026 9:11:12 PM",     "20260302-10:11:12",
      "20260302 101112",           "20260302-10:11:12:606",      "260302 10:11:12",
      "260302  9:11:12",           "02-MAR-2026 10:11:12",       "2026-03-02 10:11:12,123 +0100",
      "2026-03-02T10:11:12+01:00", "02/Mar/2026:10:11:12 +0100", "1772443872.123"};
  for (const std::string& time : times) {
    const std::string line = time + " INFO ready";
    EXPECT_EQ(shape_of(line), "<time> INFO ready") << time;
    const std::optional<LogTime> read = log_time(line);
    ASSERT_TRUE(read) << time;
    EXPECT_EQ(read->text, time.substr(0, time.find(":606"))) << time;
  }
  for (const char* const line : {"at 10.0.0.7", "version 1.2.3 of 20260302", "rows 12/34/5678 of 7"})
    EXPECT_FALSE(log_time(line)) << line;
}

double seconds_of(std::string_view time, LogDateOrder order = LogDateOrder::day_month_year) {
  return log_time(time, order).value().seconds;
}

TEST(LogTime, the_same_time_in_all_formats) {
  const double expected = seconds_of("2026-03-02T21:11:12Z");
  for (const char* const time :
       {"02-Mar-2026 21:11:12", "02.03.2026 21:11:12", "02 Mar 2026 21:11:12", "02-03-2026 9:11:12 PM",
        "2026-Mar-02 21:11:12", "Mar 02, 2026 9:11:12 PM", "20260302-21:11:12", "20260302 211112", "260302 21:11:12",
        "02/MAR/26 21:11:12", "2026-03-02 22:11:12 +0100", "02.03.2026, 22:11:12+01:00"})
    EXPECT_EQ(seconds_of(time), expected) << time;
  EXPECT_EQ(seconds_of("03/02/2026 9:11:12 PM", LogDateOrder::month_day_year), expected);
  EXPECT_EQ(seconds_of("26/03/02 21:11:12", LogDateOrder::year_month_day), expected);
  EXPECT_EQ(seconds_of("12/31/2026 12:00:01 AM"), seconds_of("2026-12-31 00:00:01")) << "invalid as day/month/year";
  EXPECT_EQ(seconds_of("31/12/2026 12:00:01 PM", LogDateOrder::month_day_year), seconds_of("2026-12-31 12:00:01"));
  EXPECT_DOUBLE_EQ(seconds_of("1772443872.5"), 1772443872.5);
}

TEST(LogTime, times_without_a_year_or_a_date_are_near_the_complete_ones) {
  LogClock clock;
  const auto read = [&](std::string_view line) { return clock.read(line).value().seconds; };
  EXPECT_EQ(read("Dec 31 23:59:58 host a[1]: begin"), seconds_of("1970-12-31 23:59:58")) << "no complete time yet";
  EXPECT_EQ(read("2023-12-31T23:59:58Z b"), seconds_of("2023-12-31 23:59:58"));
  EXPECT_EQ(read("Dec 31 23:59:59 host a[1]: c"), seconds_of("2023-12-31 23:59:59"));
  EXPECT_EQ(read("Jan  1 00:00:01 host a[1]: d"), seconds_of("2024-01-01 00:00:01")) << "the next year";
  EXPECT_EQ(read("Dec 31 23:59:59 host a[1]: late"), seconds_of("2023-12-31 23:59:59"));
  EXPECT_EQ(read("I0101 00:00:02.500 e"), seconds_of("2024-01-01 00:00:02") + 0.5);
  EXPECT_EQ(read("00:00:03 f"), seconds_of("2024-01-01 00:00:03"));
  EXPECT_EQ(read("23:59:59 late"), seconds_of("2023-12-31 23:59:59"));
  EXPECT_EQ(read("[28/Feb/2024:23:59:59 +0000] g"), seconds_of("2024-02-28 23:59:59"));
  EXPECT_EQ(read("Feb 29 00:00:01 host a[1]: h"), seconds_of("2024-02-29 00:00:01"));
  EXPECT_EQ(read("Mar  1 00:00:01 host a[1]: i"), seconds_of("2024-03-01 00:00:01"));
  EXPECT_FALSE(clock.read("no time"));
  LogClock later(LogDateOrder::day_month_year, seconds_of("2026-06-01 00:00:00"));
  EXPECT_EQ(later.read("Feb 29 00:00:01 host").value().seconds, seconds_of("2026-02-28 00:00:01"));
}

std::optional<LogDateOrder> order_of(const std::vector<std::string>& dates) {
  LogDateOrders orders;
  for (const std::string& date : dates) orders.add(date + " 10:11:12 INFO ready");
  return orders.most_likely();
}

TEST(LogTime, order_of_numeric_dates_follows_from_the_whole_log) {
  using enum LogDateOrder;
  EXPECT_EQ(order_of({"01/02/2026", "01/13/2026"}), month_day_year) << "a component above 12";
  EXPECT_EQ(order_of({"02/01/2026", "13/01/2026"}), day_month_year);
  EXPECT_EQ(order_of({"12/01/2026", "01/02/2026"}), day_month_year) << "ascending";
  EXPECT_EQ(order_of({"01/12/2026", "02/01/2026"}), month_day_year);
  EXPECT_EQ(order_of({"01/02/2026", "02/02/2026", "03/02/2026"}), day_month_year) << "three days, not three months";
  EXPECT_EQ(order_of({"02/01/2026", "02/02/2026", "02/03/2026"}), month_day_year);
  EXPECT_EQ(order_of({"17/06/09", "17/06/10"}), year_month_day);
  EXPECT_EQ(order_of({"26.03.02"}), year_month_day);
  EXPECT_EQ(order_of({"02.03.2026"}), day_month_year);
  EXPECT_FALSE(order_of({"2026-03-02", "02 Mar 2026"}));
  LogDateOrders half_days;
  half_days.add("03/02/2026 10:11:12 AM ready");
  EXPECT_EQ(half_days.most_likely(), month_day_year);
  EXPECT_EQ(half_days.example(), "03/02/2026 10:11:12 AM");
}

TEST(LogLines, masked_values_are_kept_in_order) {
  const LogScanner scanner{LogRules()};
  LogLine line;
  const std::string text = "Dec 10 06:55:46 web sshd[24200]: from 10.0.0.7";
  scanner.scan(text, line);
  std::vector<std::pair<std::string, std::string>> found;
  for (const MaskedValue& value : line.masked) found.emplace_back(value.name, value.text);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::string>>{
                       {"time", "Dec 10 06:55:46"}, {"host", "web"}, {"pid", "24200"}, {"ip", "10.0.0.7"}}));
}

TEST(LogLines, custom_rules_come_first_and_may_be_the_only_ones) {
  const LogRules with = LogRules::parse("# ours\norder  ORD-\\d+\n", "mine");
  EXPECT_EQ(shape_of("ORD-17 of 3", with), "<order> of <num>");
  const LogRules alone = LogRules::parse("only\norder  ORD-\\d+\n", "mine");
  EXPECT_EQ(shape_of("ORD-17 of 3", alone), "<order> of 3");
  EXPECT_EQ(shape_of("xORD-17 ORD-17x", alone), "xORD - 17 ORD - 17x") << "a match ends at borders of words";
}

TEST(LogLines, rules_round_trip_as_text) {
  const LogRules rules = LogRules::parse("order  ORD-\\d+\n", "mine");
  const LogRules again = LogRules::parse(rules.text(), "card");
  EXPECT_EQ(again.text(), rules.text());
  EXPECT_EQ(LogRules::parse(LogRules::built_in(), "copy").rules().size(), 2 * LogRules().rules().size());
}

TEST(LogLines, invalid_rules_are_named_with_their_line) {
  const auto message = [](const std::string& text) {
    return message_of<UsageError>([&] { (void)LogRules::parse(text, "rules.txt"); });
  };
  EXPECT_TRUE(contains(message("\nnum"), "rules.txt: line 2"));
  EXPECT_TRUE(contains(message("Num \\d"), "rules.txt: line 1"));
  EXPECT_TRUE(contains(message("unk \\d"), "rules.txt: line 1"));
  EXPECT_TRUE(contains(message("n (\\d"), "not a valid regular expression:"));
  EXPECT_TRUE(contains(message("n a)|(?:b"), "not a valid regular expression:")) << "brackets close their own";
  EXPECT_TRUE(contains(message("n \\Qa"), "line 1")) << "a quotation must end";
  EXPECT_TRUE(contains(message("n (?<x>a)"), "(?:...)"));
  EXPECT_TRUE(contains(message("n a\nm b\xFF"), "rules.txt: line 2 is not valid UTF-8"));
  EXPECT_TRUE(contains(message("only\n"), "no rules"));
}

TEST(LogLines, catastrophic_backtracking_is_an_error) {
  const LogRules rules = LogRules::parse("only\nn  (?:a+)+[bc]\n", "mine");
  EXPECT_TRUE(contains(message_of<DataError>([&] { shape_of(std::string(40, 'a'), rules); }), "--log-rules"));
}

TEST(LogLines, empty_match_is_ignored) { EXPECT_EQ(shape_of("a b", LogRules::parse("only\nn  x*\n", "mine")), "a b"); }

TEST(LogLines, invalid_bytes_are_read_as_replacement_characters) {
  EXPECT_EQ(shape_of("caf\xE9 12"), "caf\xEF\xBF\xBD <num>");
  EXPECT_EQ(shape_of(""), "");
  EXPECT_EQ(shape_of(" \t\r"), "");
  EXPECT_EQ(shape_of("error: 5\r"), "error : <num>");
}

TEST(LogLines, literal_placeholders_are_words) { EXPECT_EQ(shape_of("<num> <unk> <eos>"), "< num > < unk > < eos >"); }

/// Reconstructs a line, without blanks, from its shape and the masked values.
std::string unmasked(const LogLine& line) {
  std::string text;
  std::size_t next = 0;
  for (std::size_t at = 0; at < line.shape.size(); ++at) {
    const std::size_t end = std::min(line.shape.find(' ', at), line.shape.size());
    const std::string token = line.shape.substr(at, end - at);
    text += token.size() > 2 && token[0] == '<' ? std::string(line.masked[next++].text) : token;
    at = end;
  }
  EXPECT_EQ(next, line.masked.size());
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  return text;
}

/// Pieces of log lines, concatenated in any order.
std::string some_line() {
  static const std::vector<std::string> pieces = {"Dec 10 06:55:46",
                                                  " ",
                                                  "  ",
                                                  "\t",
                                                  "web",
                                                  "sshd[24200]:",
                                                  "10.0.0.7",
                                                  ":",
                                                  "::",
                                                  "-",
                                                  "/",
                                                  "/a/b",
                                                  "0x1f",
                                                  "12",
                                                  "1.5ms",
                                                  "core.",
                                                  "blk_",
                                                  "R02-M1-N0-C:J12-U11",
                                                  "deadbeef",
                                                  "\xC3\xA9",
                                                  "\xC3",
                                                  "\xFF",
                                                  "<",
                                                  ">",
                                                  "<num>",
                                                  "_",
                                                  "a@b.cd",
                                                  "http://",
                                                  "[",
                                                  "]",
                                                  "$",
                                                  "\\",
                                                  std::string(1, '\0'),
                                                  "x",
                                                  "7",
                                                  ".",
                                                  "\x7F"};
  std::string line;
  const int count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) line += *rc::gen::elementOf(pieces);
  return line;
}

RC_GTEST_PROP(LogLines, only_blanks_are_lost, ()) {
  const std::string line = some_line();
  const LogScanner scanner{LogRules()};
  LogLine result;
  scanner.scan(line, result);
  std::string expected = replace_invalid_utf8(line);
  std::erase_if(expected, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  RC_ASSERT(unmasked(result) == expected);
  RC_ASSERT(find_invalid_utf8(result.shape) == -1);
  RC_ASSERT(result.shape.find("  ") == std::string::npos);
}

RC_GTEST_PROP(LogLines, numbers_and_times_do_not_change_a_shape, (std::uint32_t a, std::uint32_t b)) {
  const auto line = [](std::uint32_t n) {
    return "Dec " + std::to_string(10 + n % 20) + " 06:55:" + std::to_string(10 + n % 50) + " web cron[" +
           std::to_string(n) + "]: took " + std::to_string(n % 100000 + 1) + " s";
  };
  RC_ASSERT(shape_of(line(a)) == shape_of(line(b)));
}

TEST(LogLines, first_column_labels_are_detected) {
  EXPECT_TRUE(begins_with_labels("- 1 a\nKERNDTLB 2 b\r\n- 3 c\n"));
  EXPECT_FALSE(begins_with_labels("KERNDTLB 2 b\n")) << "no line is normal";
  EXPECT_FALSE(begins_with_labels("- 1 a\nDec 10 b\n"));
  EXPECT_TRUE(begins_with_labels("\n- 1 a\n\n- 2\n"))
      << "an empty line does not hide the labels; it raises an error later";
  EXPECT_FALSE(begins_with_labels(""));
  EXPECT_FALSE(begins_with_labels("127.0.0.1 - - [x]\n"));
}

void scanned(std::string_view line, LogLine& out) {
  static const LogScanner scanner{LogRules()};
  scanner.scan(line, out);
}

TEST(LogLines, shapes_are_counted) {
  const LogTemplates shapes = shapes_of("a 1\na 2\n\nb", scanned);
  EXPECT_EQ(shapes.text, "a <num>\na <num>\n\nb\n");
  EXPECT_EQ(shapes.lines, 4);
  EXPECT_EQ(shapes.different, 3);
}

TEST(LogLines, byte_order_mark_is_not_part_of_the_first_line) {
  EXPECT_EQ(shapes_of("\xEF\xBB\xBF"
                      "a 1\n",
                      scanned)
                .text,
            "a <num>\n");
  EXPECT_TRUE(begins_with_labels("\xEF\xBB\xBF- 1 a\nBAD 2 b\n"));
}

TEST(LogLines, words_seen_once_model_unknown_words) {
  std::string shapes = "a b\na c\n\nd d\n";
  EXPECT_EQ(make_rare_words_unknown(shapes), 2);
  EXPECT_EQ(shapes, "a <unk>\na <unk>\n\nd d\n");
}

TEST(LogLines, long_lines_take_linear_time) {
  for (const std::string piece : {"a.b", "1a.", "a-1", ":aa", "/", "x@", "0f:", "[1", "http://"}) {
    std::string line;
    while (line.size() < 200000) line += piece;
    EXPECT_FALSE(shape_of(line).empty());
  }
}

TEST(LogLines, unterminated_rule_is_rejected) {
  for (const char* rule : {"x abc(*ACCEPT)", "x (*MARK:99)abc(*ACCEPT)"}) {
    const LogRules rules = LogRules::parse(std::string("only\n") + rule, "mine");
    const std::string message = message_of<DataError>([&] { shape_of("an abc of it", rules); });
    EXPECT_TRUE(contains(message, "(*ACCEPT)")) << message;
  }
}

}  // namespace
}  // namespace unfold
