// Bursts and silences in logs: detected when they occur, and not in an ordinary daily rhythm.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>

#include "model/logs/log_alarms.h"
#include "model/logs/rate_model.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kDay = 86400, kLeastBits = 11;
constexpr std::uint64_t kJob = 1, kRequest = 2, kWarning = 3, kHeartbeat = 4;

struct Lines {
  std::vector<double> times = {};
  std::vector<std::uint64_t> templates = {};
};

/// Lines of a service with a daily rhythm, a rare warning, and a heartbeat every 30 seconds.
Lines lines_of(double begin, double days, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> pause(1);
  std::discrete_distribution<int> which({0, 50, 80, 0.2});
  Lines lines;
  double heartbeat = begin;
  for (double t = begin; t < begin + days * kDay;) {
    t += pause(random) / (0.3 * (1 + 0.8 * std::sin(2 * std::numbers::pi * t / kDay)));
    for (; heartbeat < t; heartbeat += 30) {
      lines.times.push_back(heartbeat);
      lines.templates.push_back(kHeartbeat);
    }
    lines.times.push_back(t);
    lines.templates.push_back(static_cast<std::uint64_t>(which(random)));
  }
  return lines;
}

class LogRateModelTest : public ::testing::Test {
 protected:
  LogRateModelTest() {
    const Lines normal = lines_of(0, 2, 1);
    rates_.fit(normal.times, normal.templates);
  }
  /// Returns all anomalies; `skips` selects lines to omit.
  template <class Skips>
  std::vector<LogRateAnomaly> anomalies(const Lines& lines, Skips skips) {
    std::vector<LogRateAnomaly> all;
    for (std::size_t i = 0; i < lines.times.size(); ++i) {
      if (skips(lines.times[i], lines.templates[i])) continue;
      for (const LogRateAnomaly& found : rates_.see(lines.times[i], lines.templates[i], kLeastBits))
        all.push_back(found);
    }
    return all;
  }

  LogRateModel rates_;
};

TEST_F(LogRateModelTest, an_ordinary_daily_rhythm_is_not_anomalous) {
  EXPECT_FALSE(rates_.empty());
  const std::size_t found = anomalies(lines_of(10 * kDay, 2, 2), [](double, std::uint64_t) { return false; }).size();
  EXPECT_LE(found, 8u) << "of about 3,500 windows, with a share of 1 / 2048 each for bursts and silences";
}

TEST_F(LogRateModelTest, copies_of_a_known_warning_are_a_burst_at_once) {
  const Lines before = lines_of(10 * kDay, 0.3, 3);
  (void)anomalies(before, [](double, std::uint64_t) { return false; });
  int copies = 0;
  for (bool reported = false; !reported && copies < 1000; ++copies)
    for (const LogRateAnomaly& found : rates_.see(before.times.back() + 0.01 * copies, kWarning, kLeastBits))
      reported |= found.burst && found.template_id == kWarning && found.p_bits > 20;
  EXPECT_LE(copies, 16);
}

TEST_F(LogRateModelTest, a_silence_of_the_log_is_reported_by_the_next_line) {
  const auto silent = [](double time, std::uint64_t) { return time > 10.3 * kDay && time < 10.32 * kDay; };
  std::vector<LogRateAnomaly> found = anomalies(lines_of(10 * kDay, 0.4, 4), silent);
  std::erase_if(found, [](const LogRateAnomaly& one) { return one.burst || one.template_id != 0; });
  ASSERT_FALSE(found.empty());
  EXPECT_GT(found[0].p_bits, 20);
}

TEST_F(LogRateModelTest, a_missing_heartbeat_is_a_silence_of_its_template) {
  const auto silent = [](double time, std::uint64_t id) { return id == kHeartbeat && time > 10.3 * kDay; };
  std::vector<LogRateAnomaly> found = anomalies(lines_of(10 * kDay, 0.4, 5), silent);
  std::erase_if(found, [](const LogRateAnomaly& one) { return one.burst || one.template_id != kHeartbeat; });
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].count, 0);
}

/// Lines of a service whose rate differs between day and night by a factor of ten, with a heartbeat every five minutes.
Lines rhythmic_lines(double begin, double days, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> pause(1);
  Lines lines;
  double heartbeat = begin;
  for (double t = begin; t < begin + days * kDay;) {
    const double hour = std::fmod(t, kDay) / 3600;
    t += pause(random) / (hour > 7 && hour < 19 ? 0.02 : 0.002);
    for (; heartbeat < t; heartbeat += 300) {
      lines.times.push_back(heartbeat);
      lines.templates.push_back(kHeartbeat);
    }
    lines.times.push_back(t);
    lines.templates.push_back(kRequest);
  }
  return lines;
}

class RhythmicRateTest : public LogRateModelTest {
 protected:
  static constexpr double kHour = 3600;
  RhythmicRateTest() {
    rates_ = {};
    const Lines normal = rhythmic_lines(0, 7, 21);
    rates_.fit(normal.times, normal.templates);
  }
  static bool is_silence(const LogRateAnomaly& one, std::uint64_t template_id) {
    return !one.burst && one.template_id == template_id;
  }
};

TEST_F(RhythmicRateTest, stop_of_a_log_with_a_daily_rhythm_is_one_silence_with_its_length) {
  constexpr double kNine = 13 * kDay + 9 * 3600;
  for (const double hours : {1.0, 3.0, 6.0, 12.0, 24.0, 48.0}) {
    const LogRateModel before = rates_;
    const auto silent = [&](double time, std::uint64_t) { return time > kNine && time < kNine + hours * kHour; };
    std::vector<LogRateAnomaly> found = anomalies(rhythmic_lines(12 * kDay, 5, 22), silent);
    std::erase_if(found, [](const LogRateAnomaly& one) { return one.burst; });
    ASSERT_FALSE(found.empty()) << hours;
    EXPECT_TRUE(is_silence(found[0], 0)) << hours;
    EXPECT_EQ(found[0].count, 0);
    EXPECT_NEAR(found[0].seconds, hours * kHour, 600);
    EXPECT_LE(found.size(), 2u) << hours;
    rates_ = before;
  }
}

TEST_F(RhythmicRateTest, missing_heartbeat_is_reported_in_the_current_window) {
  constexpr double kBegin = 13 * kDay + 11 * 3600;
  const auto silent = [&](double time, std::uint64_t id) {
    return id == kHeartbeat && time > kBegin && time < kBegin + 3 * kHour;
  };
  std::vector<LogRateAnomaly> found = anomalies(rhythmic_lines(12 * kDay, 3, 23), silent);
  std::erase_if(found, [](const LogRateAnomaly& one) { return !is_silence(one, kHeartbeat); });
  ASSERT_FALSE(found.empty());
  EXPECT_LE(found[0].seconds, 2 * kHour);
  EXPECT_NEAR(found.back().seconds, 3 * kHour, 600) << "reported again when the heartbeat returns";
}

TEST_F(RhythmicRateTest, ordinary_nights_and_a_second_outage) {
  const auto none = [](double, std::uint64_t) { return false; };
  const LogRateModel before = rates_;
  EXPECT_LE(anomalies(rhythmic_lines(12 * kDay, 7, 24), none).size(), 3u) << "of 168 windows";
  rates_ = before;
  const auto outages = [](double time, std::uint64_t) {
    const double hour = std::fmod(time, kDay) / 3600;
    return (time < 13 * kDay && hour > 8 && hour < 20) || (time > 14 * kDay && hour > 9 && hour < 11);
  };
  std::vector<LogRateAnomaly> found = anomalies(rhythmic_lines(12 * kDay, 3, 25), outages);
  std::erase_if(found, [](const LogRateAnomaly& one) { return !is_silence(one, 0); });
  ASSERT_GE(found.size(), 2u);
  EXPECT_NEAR(found.back().seconds, 2 * kHour, 600) << "a long outage does not hide a short one";
}

TEST_F(LogRateModelTest, a_restored_model_continues_exactly) {
  const Lines lines = lines_of(10 * kDay, 0.5, 6);
  LogRateModel same = rates_;
  for (std::size_t i = 0; i < lines.times.size(); ++i) {
    if (i % 5000 == 2500) same = LogRateModel::from_json(nlohmann::json::parse(same.to_json().dump()));
    const std::size_t a = rates_.see(lines.times[i], lines.templates[i], 5).size();
    EXPECT_EQ(same.see(lines.times[i], lines.templates[i], 5).size(), a);
  }
  EXPECT_EQ(same.to_json(), rates_.to_json());
  nlohmann::json broken = rates_.to_json();
  broken["scales"][0]["now"] = {1};
  EXPECT_THROW(LogRateModel::from_json(broken), ModelError);
}

TEST(LogRateModel, a_log_without_enough_time_has_no_rates) {
  LogRateModel rates;
  rates.fit({1, 1, 2, 2, 3}, {7, 7, 7, 8, 7});
  EXPECT_TRUE(rates.empty());
  EXPECT_TRUE(rates.see(4, 7, 0).empty());
}

TEST_F(LogRateModelTest, far_times_and_clocks_that_go_back_end_no_run) {
  for (const double time : {1e12, 5.0, -1e9, 1e15, 10 * kDay}) (void)rates_.see(time, kRequest, kLeastBits);
  EXPECT_LE(anomalies(lines_of(11 * kDay, 1, 7), [](double, std::uint64_t) { return false; }).size(), 8u);
}

TEST_F(LogRateModelTest, clock_that_goes_back_is_neither_a_burst_nor_a_silence) {
  const auto none = [](double, std::uint64_t) { return false; };
  std::size_t found = anomalies(lines_of(10 * kDay, 0.5, 8), none).size();
  for (const double step : {60.0, 600.0, 3600.0, 7200.0})  // the log continues after a step back
    found += anomalies(lines_of(10.5 * kDay - step, 0.5 / 24, 9), none).size();
  EXPECT_LE(found, 3u) << "of about 1,000 windows, with a share of 1 / 2048 each for bursts and silences";
}

TEST_F(LogRateModelTest, single_late_lines_count_in_the_current_window) {
  const Lines lines = lines_of(10 * kDay, 0.5, 10);
  LogRateModel delayed = rates_;
  std::size_t found = 0;
  for (std::size_t i = 0; i < lines.times.size(); ++i)
    found += delayed.see(lines.times[i] - (i % 3 == 1 ? 1800 : 0), lines.templates[i], kLeastBits).size();
  EXPECT_LE(found, 4u);
  EXPECT_LE(anomalies(lines, [](double, std::uint64_t) { return false; }).size(), 4u);
}

TEST_F(LogRateModelTest, new_log_begins_at_any_time) {
  const auto none = [](double, std::uint64_t) { return false; };
  std::size_t found = 0;
  for (const double day : {10.0, 12.0, 9.98, 8.0, 10.01}) {
    rates_.end_log();
    found += anomalies(lines_of(day * kDay, 0.1, 11), none).size();
  }
  EXPECT_LE(found, 3u);
}

TEST(LogAlarms, repeated_bursts_are_one_alarm) {
  LogAlarms alarms({.share = 0.001});
  const LogRateAnomaly burst{.burst = true, .template_id = kJob, .p_bits = 20};
  EXPECT_EQ(alarms.see_rate(burst, 10, "")->count, 1);
  EXPECT_EQ(alarms.see_rate(burst, 20, "")->count, 2);
  EXPECT_EQ(alarms.alarms(), 1);
  EXPECT_EQ(alarms.alarms(LogAlarmKind::burst), 1);
  EXPECT_EQ(alarms.see_rate({.burst = true, .template_id = kJob, .p_bits = 5}, 30, ""), nullptr);
}

}  // namespace
}  // namespace unfold
