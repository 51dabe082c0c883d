// The logs that a model has learned: recognized under any name, and after they have grown.
#include "app/logs/learned_logs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr const char* kFirst = "2026-03-01 10:00:00 a\n2026-03-01 10:00:01 b\n";
constexpr const char* kNext = "2026-03-01 10:00:02 c\n";

Input log_of(const std::string& bytes, const std::string& name = "app.log") { return Input::from_bytes(name, bytes); }

TEST(LearnedLogs, log_that_has_grown_begins_with_the_learned_bytes) {
  LearnedLogs learned;
  learned.add(log_of(kFirst, "app.log"));
  const Input grown = log_of(std::string(kFirst) + kNext, "app.log.1");
  const std::optional<RepeatedLog> repeated = learned.beginning_of(grown);
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->name, "app.log");
  EXPECT_EQ(repeated->lines, 2);
  EXPECT_EQ(repeated->rest, kNext);
  const Input same = log_of(kFirst, "copy.log"), shorter = log_of("2026-03-01 10:00:00 a\n"), other = log_of(kNext);
  EXPECT_EQ(learned.beginning_of(same)->rest, "");
  EXPECT_FALSE(learned.beginning_of(shorter));
  EXPECT_FALSE(learned.beginning_of(other));
  learned.add(grown);
  const Input twice = log_of(std::string(kFirst) + kNext + kNext);
  EXPECT_EQ(learned.beginning_of(twice)->rest, kNext) << "the longest learned log";
}

TEST(LearnedLogs, logs_with_the_same_first_bytes_are_distinguished) {
  std::string begin;
  for (int i = 0; i < 1000; ++i) begin += "2026-03-01 10:00:00 a\n";
  LearnedLogs learned;
  learned.add(log_of(begin + kFirst));
  const Input other = log_of(begin + kNext + kFirst), grown = log_of(begin + kFirst + kNext);
  EXPECT_FALSE(learned.beginning_of(other));
  EXPECT_EQ(learned.beginning_of(grown)->rest, kNext);
}

TEST(LearnedLogs, line_that_was_cut_off_is_not_learned_again) {
  for (const char* end : {"2026-03-01 10:00:02 b", "2026-03-01 10:00:02 begi", ""}) {
    LearnedLogs learned;
    learned.add(log_of(std::string(kFirst) + end));
    const Input grown = log_of(std::string(kFirst) + "2026-03-01 10:00:02 begins\n" + kNext);
    const std::optional<RepeatedLog> repeated = learned.beginning_of(grown);
    ASSERT_TRUE(repeated) << end;
    EXPECT_EQ(repeated->rest, std::string(*end == '\0' ? "2026-03-01 10:00:02 begins\n" : "") + kNext) << end;
  }
  LearnedLogs whole;
  whole.add(log_of("10:00:00 a"));
  const Input same = log_of("10:00:00 a"), ended = log_of("10:00:00 a\n");
  EXPECT_EQ(whole.beginning_of(same)->rest, "");
  EXPECT_EQ(whole.beginning_of(ended)->rest, "");
}

TEST(LearnedLogs, times_are_those_of_the_first_and_last_lines_with_a_time) {
  const std::string text = std::string("begin\n\n") + kFirst + "no time";
  EXPECT_EQ(first_log_time(text)->text, "2026-03-01 10:00:00");
  EXPECT_EQ(last_log_time(text)->text, "2026-03-01 10:00:01");
  EXPECT_EQ(last_log_time(kNext)->text, "2026-03-01 10:00:02");
  for (const char* none : {"", "\n", "\n\n", "a\nb", "a\nb\n"}) {
    EXPECT_FALSE(first_log_time(none)) << none;
    EXPECT_FALSE(last_log_time(none)) << none;
  }
  LearnedLogs learned;
  EXPECT_FALSE(learned.latest());
  learned.add(log_of(kNext));
  learned.add(log_of(kFirst));
  EXPECT_EQ(learned.latest()->text, "2026-03-01 10:00:02");
}

TEST(LearnedLogs, json_keeps_everything_and_damage_is_refused) {
  LearnedLogs learned;
  learned.add(log_of(kFirst));
  learned.add(log_of(kNext, "next.log"));
  const nlohmann::json json = learned.to_json();
  const LearnedLogs same = LearnedLogs::from_json(json);
  EXPECT_EQ(same.to_json(), json);
  const Input repeated = log_of(kNext);
  EXPECT_EQ(same.beginning_of(repeated)->name, "next.log");
  for (const char* change : {R"({"logs": 7})", R"({"logs": [{"name": "a"}]})", R"({"latest": {"seconds": "x"}})"}) {
    nlohmann::json bad = json;
    bad.merge_patch(nlohmann::json::parse(change));
    EXPECT_THROW(LearnedLogs::from_json(bad), ModelError) << change;
  }
}

}  // namespace
}  // namespace unfold
