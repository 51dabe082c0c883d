// Ticks at round dates.
#include "app/plots/time_ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace unfold {
namespace {

/// Returns the labels of the ticks of `count` positions that begin at a date and are some seconds apart.
std::vector<std::string> labels(const char* begin, Index seconds, Index count) {
  const std::optional<Moment> first = parse_date(begin, DateFormat::year_month_day);
  const auto moment_of = [&](Index p) {
    Moment moment = *first;
    const Index second = moment.second + p * seconds;
    moment.days += second / 86400;
    moment.second = second % 86400;
    return std::optional(moment);
  };
  std::vector<std::string> result;
  for (const AxisTick& tick : time_ticks(0, count - 1, moment_of)) result.push_back(tick.label);
  return result;
}

constexpr Index kDayOfTicks = 86400;

TEST(TimeTicks, AreAtTheBeginningOfUnits) {
  EXPECT_THAT(labels("2023-11-20", 365 * kDayOfTicks, 4), testing::ElementsAre("2024", "2025", "2026"));
  EXPECT_THAT(labels("2023-11-20", kDayOfTicks, 100), testing::ElementsAre("2023-12", "2024-01", "2024-02"));
  EXPECT_THAT(labels("2024-03-01", kDayOfTicks, 20), testing::ElementsAre("2024-03-04", "2024-03-11", "2024-03-18"));
  EXPECT_THAT(labels("2024-03-01 22:00", 3600, 4),
              testing::ElementsAre("2024-03-01 23:00", "2024-03-02 00:00", "2024-03-02 01:00"));
  EXPECT_THAT(labels("2024-03-01 22:00:58", 1, 4),
              testing::ElementsAre("2024-03-01 22:00:59", "2024-03-01 22:01:00", "2024-03-01 22:01:01"));
}

TEST(TimeTicks, TheirNumberIsBounded) {
  for (const Index seconds :
       {Index{1}, Index{60}, Index{3600}, kDayOfTicks, 7 * kDayOfTicks, 31 * kDayOfTicks, 365 * kDayOfTicks})
    for (const Index count : {Index{8}, Index{60}, Index{500}}) {
      const std::vector<std::string> found = labels("1999-05-03 10:00", seconds, count);
      EXPECT_GE(found.size(), 2u) << seconds << " " << count;
      EXPECT_LE(found.size(), 6u) << seconds << " " << count;
      EXPECT_TRUE(std::ranges::is_sorted(found)) << seconds << " " << count;
    }
}

TEST(TimeTicks, UnknownDatesHaveNone) {
  EXPECT_TRUE(time_ticks(0, 9, [](Index) { return std::optional<Moment>(); }).empty());
  EXPECT_TRUE(labels("2024-03-01", kDayOfTicks, 1).empty());
}

}  // namespace
}  // namespace unfold
