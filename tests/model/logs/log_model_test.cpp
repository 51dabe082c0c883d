// The log model: counts, calibration, positions of words, values and order, compared with slow references.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "data/counts/distinct_count.h"
#include "data/logs/log_lines.h"
#include "model/logs/count_table.h"
#include "model/logs/log_alarms.h"
#include "model/logs/log_detector.h"
#include "model/logs/log_math.h"
#include "model/logs/value_model.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

const LogScanner& scanner() {
  static const LogScanner scanner(LogRules(), true);
  return scanner;
}

LogLine scanned(std::string_view text) {
  LogLine line;
  scanner().scan(text, line);
  return line;
}

double slow_rarity(const std::vector<std::uint64_t>& seen, std::uint64_t value) {
  std::map<std::uint64_t, double> counts;
  for (const std::uint64_t x : seen) ++counts[x];
  const double own = counts.contains(value) ? counts[value] : 0, different = static_cast<double>(counts.size());
  double as_rare = different;
  for (const auto& [x, count] : counts)
    if (count <= own) as_rare += count;
  return -std::log(as_rare / (static_cast<double>(seen.size()) + different));
}

TEST(CountTable, rarity_equals_the_sum_over_all_values) {
  CountTable table;
  std::vector<std::uint64_t> seen;
  std::mt19937 random(5);
  for (int i = 0; i < 150; ++i) {  // no count reaches 32, from which counts are grouped
    const std::uint64_t value = std::min<std::uint64_t>(random() % 30, random() % 40);
    EXPECT_NEAR(table.rarity_nats(value), seen.empty() ? 0 : slow_rarity(seen, value), 1e-12);
    table.add(value);
    seen.push_back(value);
  }
}

TEST(CountTable, counts_of_an_octave_share_at_most_eight_groups) {
  for (Index count = 1; count < 100000; ++count) {
    EXPECT_LE(count_group(count), count_group(count + 1));
    EXPECT_LE(count_group(count + 1), count_group(count) + 1);
  }
  EXPECT_LT(count_group(Index{1} << 52), std::size_t{32 + 8 * 48});
}

TEST(CountTable, a_full_table_evicts_rare_values_and_says_so) {
  CountTable table(100);
  for (std::uint64_t i = 0; i < 50; ++i) table.add(7);
  for (std::uint64_t i = 1000; i < 2000; ++i) table.add(i);
  EXPECT_LE(table.size(), 100u);
  EXPECT_EQ(table.count(7), 50);
  EXPECT_EQ(table.seen(), 1050);
  EXPECT_GT(table.evicted(), 800);
  EXPECT_LT(table.rarity_nats(5), 0.75) << "new values are normal here";
}

TEST(CountTable, json_keeps_the_whole_state_or_the_frequent_values) {
  CountTable table;
  for (std::uint64_t i = 0; i < 500; ++i) table.add(i % 7 == 0 ? 1000 + i : i % 3);
  const CountTable same = CountTable::from_json(nlohmann::json::parse(table.to_json().dump()));
  EXPECT_EQ(same.to_json(), table.to_json());
  const CountTable frequent = CountTable::from_json(table.to_json(2, 2));
  EXPECT_EQ(frequent.size(), 2u);
  EXPECT_EQ(frequent.seen(), 500);
  for (const char* change : {R"({"seen":-1})", R"({"seen":3})", R"({"different":1000})", R"({"counts":[1]})",
                             R"({"values":["a"]})", R"({"counts":null})"}) {
    nlohmann::json bad = table.to_json();
    bad.merge_patch(nlohmann::json::parse(change));
    EXPECT_THROW(CountTable::from_json(bad), ModelError) << change;
  }
}

TEST(NumberCounts, an_outlier_does_not_hide_the_next_ones) {
  NumberCounts numbers;
  std::mt19937 random(5);
  std::lognormal_distribution<double> usual(2, 0.5);
  for (int i = 0; i < 3000; ++i) numbers.add(usual(random));
  for (const double outlier : {48211.5, 51302.2, 39999.1, 60001.7, 48211.5}) {
    EXPECT_GT(numbers.rarity_bits(outlier), 15) << outlier;
    numbers.add(outlier);
  }
  EXPECT_LT(numbers.rarity_bits(8), 2);
  EXPECT_LE(numbers.rarity_bits(40), 8) << "close to the largest usual numbers";
  for (int i = 0; i < 10; ++i) numbers.add(50000);
  EXPECT_LT(numbers.rarity_bits(50000), 9) << "more than one number in 500 is so large";
  EXPECT_EQ(NumberCounts::from_json(numbers.to_json()).rarity_bits(70000), numbers.rarity_bits(70000));
}

TEST(NumberCounts, the_range_of_few_numbers_contains_all_of_them) {
  NumberCounts numbers;
  for (int i = 0; i < 400; ++i) numbers.add(i == 200 ? 1000 : 10);
  EXPECT_LE(numbers.rarity_bits(1000), 8);
  EXPECT_GT(numbers.rarity_bits(1e6), 15);
  EXPECT_GT(numbers.rarity_bits(-1000), 15);
}

TEST(TailCalibration, a_p_value_is_the_rank_among_normal_scores) {
  TailCalibration tail;
  for (int i = 0; i < 1000; ++i) tail.add(i / 100.0);
  EXPECT_NEAR(std::exp2(-tail.p_bits(5.0)), 501.0 / 1001, 0.01);
  EXPECT_NEAR(std::exp2(-tail.p_bits(9.0)), 101.0 / 1001, 0.01);
  EXPECT_GT(tail.p_bits(12), tail.p_bits(9.99));
  EXPECT_NEAR(tail.p_bits(60) - tail.p_bits(50), 10, 0.1) << "the tail is not steeper than 2^-s";
  EXPECT_EQ(TailCalibration().p_bits(3.5), 3.5);
  const TailCalibration same = TailCalibration::from_json(tail.to_json());
  EXPECT_EQ(same.to_json(), tail.to_json());
  for (const double bits : {0.0, 3.3, 9.7, 42.0, 1e6}) EXPECT_EQ(same.p_bits(bits), tail.p_bits(bits));
}

TEST(TailCalibration, the_threshold_of_a_share_is_exceeded_by_that_share) {
  TailCalibration tail;
  std::mt19937 random(3);
  std::exponential_distribution<double> scores(kNatsPerBit);
  for (int i = 0; i < 20000; ++i) tail.add(scores(random));
  int exceed = 0;
  for (int i = 0; i < 100000; ++i) exceed += scores(random) > tail.threshold(0.001);
  EXPECT_NEAR(exceed, 100, 50);
}

TEST(LogScanner, values_of_named_fields_carry_their_keys) {
  const LogLine line =
      scanned(R"({"level":"info", "user": "bob","n":12,"msg":"two words"} code=E17 who="ann" at=10.0.0.1)");
  std::vector<std::string> found;
  for (const MaskedValue& value : line.masked)
    found.push_back(std::string(value.key) + ":" + std::string(value.name) + "=" + std::string(value.text));
  EXPECT_EQ(found, (std::vector<std::string>{"level:word=info", "user:word=bob", "n:num=12", "code:id=E17",
                                             "who:word=ann", "at:ip=10.0.0.1"}));
  EXPECT_NE(line.shape.find("two words"), std::string::npos) << "texts stay words";
}

TEST(LogScanner, identifiers_of_production_are_masked_without_own_rules) {
  for (const char* text : {"ingest-f88db6cf6-77254", "job-9530", "I0203", "http-nio-8080-exec-2",
                           "0b5f6ab0-3a3b-4f6e-9a51-3f2b8b1f9c55", "web1-7f9"})
    EXPECT_EQ(scanned(std::string("start ") + text + " done").shape, "start <id> done") << text;
  EXPECT_EQ(scanned("double-hummer and re-use").shape, "double-hummer and re-use");
}

TEST(WordSlots, words_that_vary_at_a_place_are_masked_and_others_stay) {
  const std::vector<std::string> users = {"ann", "bob", "carl", "dora", "eve", "finn", "gus",
                                          "hal", "ida", "jon",  "kim",  "lea", "max",  "ned"};
  WordSlotLearner learner;
  std::vector<std::string> lines;
  for (int i = 0; i < 280; ++i) {
    lines.push_back("login of " + users[static_cast<std::size_t>(i) % users.size()] + " from console");
    lines.push_back(std::string("session ") + (i % 2 == 0 ? "opened" : "closed") + " by root");
  }
  for (const std::string& text : lines) learner.count_words(scanned(text));
  for (const std::string& text : lines) learner.see(scanned(text));
  WordSlots slots = learner.finish();
  LogLine line = scanned("login of mallory from console");
  slots.mask(line);
  EXPECT_EQ(line.shape, "login of <word> from console");
  ASSERT_EQ(line.masked.size(), 1u);
  EXPECT_EQ(line.masked[0].text, "mallory");
  LogLine other = scanned("session opened by root");
  slots.mask(other);
  EXPECT_EQ(other.shape, "session opened by root");
  EXPECT_EQ(WordSlots::from_json(slots.to_json()).to_json(), slots.to_json());
}

TEST(WordSlots, identifiers_that_consist_of_digits_keep_the_name_of_their_position) {
  std::mt19937 random(5);
  std::vector<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    char id[9];
    std::snprintf(id, sizeof id, "%08X", static_cast<unsigned>(random()));
    lines.push_back(std::string("q=") + id + " size=" + std::to_string(random() % 10000000));
    lines.push_back(std::string("greylisted ") + id + " for " + std::to_string(i) + " s");
  }
  WordSlotLearner learner;
  for (const std::string& text : lines) learner.count_words(scanned(text));
  for (const std::string& text : lines) learner.see(scanned(text));
  WordSlots slots = learner.finish(), restored = WordSlots::from_json(slots.to_json());
  EXPECT_EQ(restored.to_json(), slots.to_json());
  for (WordSlots* const which : {&slots, &restored})
    for (const char* const id : {"A164D839", "24106491", "00106491", "1234567B", "ABCDEFAB"}) {
      const std::string keyed_text = std::string("q=") + id + " size=24106491";
      LogLine keyed = scanned(keyed_text);
      which->mask(keyed);
      EXPECT_EQ(keyed.shape, "q = <hex> size = <num>") << id;
      EXPECT_EQ(keyed.masked[0].name, "hex");
      EXPECT_EQ(keyed.masked[0].text, id);
      const std::string plain_text = std::string("greylisted ") + id + " for 24106491 s";
      LogLine plain = scanned(plain_text);
      which->mask(plain);
      EXPECT_EQ(plain.shape, "greylisted <hex> for <num> s") << id;
    }
  LogLine other = scanned("q=Z164 size=12");
  slots.mask(other);
  EXPECT_EQ(other.shape, "q = <id> size = <num>") << "not a hexadecimal number";
}

/// Lines of interleaved requests: open, read or write, close.
std::vector<std::string> request_lines(int requests, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<int, int>> active;  // request, step
  std::vector<std::string> lines;
  int made = 0;
  while (made < requests || !active.empty()) {
    if (made < requests && (active.empty() || (active.size() < 5 && random() % 3 == 0)))
      active.emplace_back(static_cast<int>(seed) * 100000 + made++, 0);
    auto& [request, step] = active[random() % active.size()];
    static constexpr std::array<const char*, 3> kSteps = {"opened", "served", "closed"};
    lines.push_back("request=r" + std::to_string(request) + " status=" + (random() % 10 == 0 ? "304" : "200") +
                    " took=" + std::to_string(20 + random() % 60) + "ms msg=\"the request was " +
                    kSteps[static_cast<std::size_t>(step)] + "\"");
    if (++step == 3) std::erase_if(active, [](const auto& entry) { return entry.second == 3; });
  }
  return lines;
}

LogDetector trained_detector(const std::vector<std::string>& lines) {
  LogDetector detector;
  LogLine line;
  const auto each_line = [&](const std::function<void(LogLine&)>& use) {
    for (const std::string& text : lines) {
      scanner().scan(text, line);
      use(line);
    }
  };
  detector.find_places(each_line);
  const auto held_out = [](std::size_t i) { return i / 50 % 5 == 4; };
  std::size_t number = 0;
  each_line([&](LogLine& read) {
    detector.mask(read);
    held_out(number++) ? detector.pass(read) : detector.learn(read);
  });
  detector.begin_calibration();
  number = 0;
  each_line([&](LogLine& read) {
    detector.mask(read);
    held_out(number++) ? detector.hold_out(read, 20) : detector.pass(read);
  });
  detector.calibrate();
  return detector;
}

LogLineScore scored(LogDetector& detector, const std::string& text, bool learn = true) {
  LogLine line = scanned(text);
  detector.mask(line);
  const LogLineScore score = detector.score(line, 20);
  if (learn) detector.learn_scored();
  return score;
}

class LogDetectorTest : public ::testing::Test {
 protected:
  LogDetectorTest() : detector_(trained_detector(request_lines(1500, 1))) {
    for (const std::string& line : request_lines(50, 2)) scored(detector_, line);
  }
  LogDetector detector_;
};

TEST_F(LogDetectorTest, the_field_that_orders_the_lines_is_found) {
  EXPECT_TRUE(detector_.grouping().used);
  EXPECT_EQ(detector_.grouping().name, "request");
  EXPECT_LT(detector_.grouping().bits, 0.7 * detector_.grouping().unordered_bits);
}

TEST_F(LogDetectorTest, each_kind_of_anomaly_comes_from_its_source) {
  const auto line = [](const std::string& id, const std::string& status, const std::string& took,
                       const std::string& word) {
    return "request=" + id + " status=" + status + " took=" + took + "ms msg=\"the request was " + word + "\"";
  };
  const double normal = scored(detector_, line("r9000001", "200", "40", "opened")).surprise;
  const LogLineScore order = scored(detector_, line("r9000001", "200", "40", "closed"));
  EXPECT_EQ(order.source, LogSource::order);
  EXPECT_GT(order.surprise, normal + 4);
  const std::string unknown_status = line("r9000002", "599", "40", "opened");  // scores refer to their lines
  const LogLineScore status = scored(detector_, unknown_status);
  EXPECT_EQ(status.source, LogSource::values);
  EXPECT_EQ(status.value.value->key, "status");
  EXPECT_THAT(detector_.expected(status), ::testing::HasSubstr("200 ("));
  const std::string long_time = line("r9000003", "200", "99999", "opened");
  const LogLineScore slow = scored(detector_, long_time);
  EXPECT_EQ(slow.source, LogSource::values);
  EXPECT_EQ(slow.value.value->key, "took");
  const LogLineScore words = scored(detector_, line("r9000004", "200", "40", "forgotten"));
  EXPECT_GT(words.parts[0], 5);
  EXPECT_LT(words.p_value(), 0.01);
}

TEST(RecentScores, p_value_mixes_the_long_run_with_the_last_lines) {
  RecentScores recent;
  std::vector<double> scores;
  for (int i = 0; i < 40; ++i) {
    const double bits = (i * 7919 % 97) / 10.0, p = std::exp2(-bits);
    double total = 0, reached = 0;
    for (int back = 0; back < RecentScores::kLines; ++back) {
      const double weight = std::pow(RecentScores::kDecay, back);
      total += weight;
      if (back >= i)
        reached += weight * p;
      else if (scores[static_cast<std::size_t>(i - 1 - back)] >= bits - RecentScores::kSame)
        reached += weight;
    }
    const double expected = -std::log2((1 - RecentScores::kShare) * p + RecentScores::kShare * reached / total);
    EXPECT_NEAR(recent.p_bits(bits), std::max(0.0, expected), 1e-9);
    EXPECT_DOUBLE_EQ(RecentScores::from_json(recent.to_json()).p_bits(bits), recent.p_bits(bits));
    recent.add(bits);
    scores.push_back(bits);
  }
  EXPECT_THROW(RecentScores::from_json(nlohmann::json::array({"x"})), ModelError);
  EXPECT_THROW(RecentScores::from_json(std::vector<double>(17, 1.0)), ModelError);
}

/// The messages of a restart are anomalous at first; they must not hide an unusual order afterwards.
TEST_F(LogDetectorTest, burst_of_new_templates_does_not_outrank_an_unusual_order) {
  const std::vector<std::string> words = {"cache", "table", "socket", "worker", "quota", "index", "lease", "mirror"};
  std::vector<double> burst;
  for (const std::string& word : words) {
    const std::string text = "kernel " + word + " subsystem is up again";
    burst.push_back(scored(detector_, text).surprise);
  }
  EXPECT_GT(burst.front(), 5);
  EXPECT_LT(burst.back(), burst.front() - 3);
  const auto line = [](const std::string& word) {
    return "request=r9000001 status=200 took=40ms msg=\"the request was " + word + "\"";
  };
  scored(detector_, line("opened"));
  const LogLineScore order = scored(detector_, line("closed"));
  EXPECT_EQ(order.source, LogSource::order);
  EXPECT_GT(order.surprise, burst.back());
}

TEST(LogDetector, number_in_brackets_may_group_lines) {
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i)
    for (const char* step : {"BEGIN", "SELECT", "COMMIT"})
      for (int other = 0; other < 3; ++other)
        lines.push_back("UTC [" + std::to_string(3000 + 3 * i + other * (i % 2 + 1)) + "] LOG: statement: " + step +
                        " after " + std::to_string(lines.size() * 7919 % 1000) + " ms");
  std::mt19937 random(3);
  for (std::size_t i = 0; i + 6 < lines.size(); i += 2) std::swap(lines[i], lines[i + random() % 2]);
  EXPECT_EQ(trained_detector(lines).grouping().name, "num");
}

/// Requests follow each other on each of three hosts, so both the host and the request order the lines.
TEST(LogDetector, requests_group_lines_rather_than_their_hosts) {
  std::mt19937 random(8);
  struct Host {
    int request = 0, step = 0;
  };
  std::array<Host, 3> hosts;
  std::vector<std::string> lines;
  int made = 0;
  while (made < 1200) {
    const std::size_t which = random() % hosts.size();
    Host& host = hosts[which];
    const std::string prefix = "mx" + std::to_string(which) + " relay: ";
    if (host.step == 0) {
      host.request = 5000 + made++;
      if (random() % 4 == 0) {
        lines.push_back(prefix + "queue is checked");
        continue;
      }
    }
    static constexpr std::array<const char*, 4> kSteps = {"connected", "accepted", "delivered", "removed"};
    lines.push_back(prefix + "q=r" + std::to_string(host.request) + " " + kSteps[static_cast<std::size_t>(host.step)]);
    host.step = (host.step + 1) % 4;
  }
  const LogGrouping grouping = trained_detector(lines).grouping();
  EXPECT_EQ(grouping.name, "q");
  EXPECT_TRUE(grouping.used);
}

/// If many lines have rare values, values no longer hide an unusual order; the other sources keep their scales.
TEST_F(LogDetectorTest, rare_values_become_normal_if_many_lines_have_them) {
  const auto line = [](int id, const std::string& status, const std::string& word) {
    return "request=r" + std::to_string(id) + " status=" + status + " took=40ms msg=\"the request was " + word + "\"";
  };
  LogDetector fixed = detector_;
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    const std::string text = line(9200000 + i, std::to_string(400 + i), "opened");
    values.push_back(scored(detector_, text).parts[2]);
    scored(fixed, text, false);
  }
  EXPECT_GT(values.front(), values.back() + 2);
  const std::string wrong = line(9300000, "200", "closed");
  EXPECT_NEAR(scored(detector_, wrong).parts[1], scored(fixed, wrong).parts[1], 1);
}

TEST_F(LogDetectorTest, an_event_in_the_wrong_place_makes_one_anomaly) {
  const auto line = [](const std::string& word) {
    return "request=r9100001 status=200 took=40ms msg=\"the request was " + word + "\"";
  };
  scored(detector_, line("opened"));
  EXPECT_GT(scored(detector_, line("closed")).parts[1], 4);
  EXPECT_LT(scored(detector_, line("served")).parts[1], 4) << "it follows the event before";
}

TEST_F(LogDetectorTest, the_state_continues_exactly) {
  LogDetector copy = LogDetector::from_json(nlohmann::json::parse(detector_.to_json(true).dump()));
  for (const std::string& line : request_lines(40, 3)) {
    const LogLineScore a = scored(detector_, line), b = scored(copy, line);
    EXPECT_EQ(a.surprise, b.surprise);
    EXPECT_EQ(a.p_bits, b.p_bits);
  }
  EXPECT_EQ(copy.to_json(true), detector_.to_json(true));
}

TEST_F(LogDetectorTest, a_damaged_model_is_refused) {
  const nlohmann::json good = detector_.to_json(false);
  EXPECT_NO_THROW(LogDetector::from_json(good));
  for (const char* change :
       {R"({"lines":-1})", R"({"values":null})", R"({"order":{"contexts":[1]}})", R"({"calibration":[]})",
        R"({"grouping":{"role":"x"}})", R"({"slots":{"places":["a"]}})"}) {
    nlohmann::json bad = good;
    bad.merge_patch(nlohmann::json::parse(change));
    EXPECT_THROW(LogDetector::from_json(bad), ModelError) << change;
  }
}

TEST_F(LogDetectorTest, alarms_do_not_exceed_the_asked_share_on_normal_lines) {
  for (const double share : {0.001, 0.01}) {
    LogDetector detector = trained_detector(request_lines(1500, 1));
    LogAlarms alarms({.share = share});
    Index number = 0;
    for (const std::string& text : request_lines(7000, 4)) {
      LogLine line = scanned(text);
      detector.mask(line);
      alarms.see(detector, detector.score(line, 20), ++number, "");
      detector.learn_scored();
    }
    const double asked = share * static_cast<double>(number);
    EXPECT_GT(alarms.alarms(), 0) << share;
    EXPECT_LT(static_cast<double>(alarms.alarms()), asked * 1.5) << share;
  }
}

TEST_F(LogDetectorTest, lines_with_p_values_up_to_the_limit_are_anomalous) {
  LogAlarms alarms({.share = 0.02});
  EXPECT_DOUBLE_EQ(alarms.threshold(), 0.02);
  double lowest = 1, highest = 0;
  Index line_number = 0;
  for (const std::string& text : request_lines(1000, 12)) {
    LogLine line = scanned(text);
    detector_.mask(line);
    const LogLineScore score = detector_.score(line, 20);
    const double limit = alarms.threshold();
    lowest = std::min(lowest, limit);
    highest = std::max(highest, limit);
    EXPECT_EQ(alarms.see(detector_, score, ++line_number, "") != nullptr, score.p_bits >= -log2_of(limit)) << text;
    detector_.learn_scored();
  }
  EXPECT_GE(lowest, 0.02 / 4 * (1 - 1e-9));
  EXPECT_LE(highest, 0.02 * 8 * (1 + 1e-9));
  EXPECT_LT(lowest, highest);
}

TEST_F(LogDetectorTest, a_repeated_anomaly_is_one_alarm_with_a_count) {
  LogAlarms alarms({.share = 0.001});
  Index number = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = "kernel: out of memory in process " + std::to_string(i);
    LogLine line = scanned(text);
    detector_.mask(line);
    alarms.see(detector_, detector_.score(line, 20), ++number, "10:00");
    detector_.learn_scored();
  }
  EXPECT_EQ(alarms.alarms(), 1);
  LogAlarms copy({.share = 0.001});
  copy.restore(nlohmann::json::parse(alarms.to_json().dump()));
  EXPECT_EQ(copy.to_json(), alarms.to_json());
}

TEST_F(LogDetectorTest, a_change_of_the_format_is_few_alarms_and_then_quiet) {
  LogAlarms alarms({.share = 0.001});
  Index number = 0, late = 0;
  for (std::string text : request_lines(1500, 6)) {
    text += " zone=b" + std::to_string(number % 3);
    LogLine line = scanned(text);
    detector_.mask(line);
    const LogAlarm* alarm = alarms.see(detector_, detector_.score(line, 20), ++number, "");
    late += number > 1000 && alarm != nullptr && alarm->count == 1;
    detector_.learn_scored();
  }
  EXPECT_LE(alarms.alarms(), 20);
  EXPECT_LE(late, 8);
}

TEST_F(LogDetectorTest, new_field_is_one_alarm_and_one_report_of_its_share) {
  LogAlarms alarms({.share = 0.001});
  Index number = 0, first = 0;
  std::vector<std::string> reports;
  for (std::string text : request_lines(400, 6)) {
    if (++number % 4 == 0) text += " zone=b" + std::to_string(number % 3);
    LogLine line = scanned(text);
    detector_.mask(line);
    const LogAlarm* alarm = alarms.see(detector_, detector_.score(line, 20), number, "10:31");
    first += alarm != nullptr && alarm->count == 1 && alarm->kind != LogAlarmKind::order;
    if (const LogAlarm* drift = alarms.see_drift(number, "10:40")) reports.push_back(drift->cause);
    LogAlarms copy({.share = 0.001});
    if (number == 100) {
      copy.restore(nlohmann::json::parse(alarms.to_json().dump()));
      EXPECT_EQ(copy.to_json(), alarms.to_json());
      alarms = copy;
    }
    detector_.learn_scored();
  }
  EXPECT_EQ(first, 1);
  EXPECT_THAT(reports, ::testing::ElementsAre("new field zone in 25 % of the lines since 10:31"));
}

TEST_F(LogDetectorTest, change_of_the_log_is_described_with_its_beginning) {
  LogAlarms alarms({.share = 0.001});
  std::string change;
  for (int i = 0; i < 60; ++i) {
    const std::string name(1, static_cast<char>('a' + i % 26));
    const std::string text = "module " + name + name + std::string(1, static_cast<char>('a' + i / 26)) + " is ready";
    LogLine line = scanned(text);
    detector_.mask(line);
    LogLineScore score = detector_.score(line, 20);
    score.p_bits = 30;
    const LogAlarm* alarm = alarms.see(detector_, score, i + 1, "10:3" + std::to_string(i / 10));
    if (alarm != nullptr && alarm->kind == LogAlarmKind::drift) change = alarm->cause;
    detector_.learn_scored();
  }
  EXPECT_THAT(change, ::testing::MatchesRegex("the log changed: [0-9]+ new templates since 10:30"));
}

}  // namespace
}  // namespace unfold
