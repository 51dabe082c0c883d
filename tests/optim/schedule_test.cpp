#include "unfold/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace unfold {
namespace {

TEST(Schedule, half_cosine_schedule_is_a_cosine) {
  constexpr double kPi = 3.14159265358979323846;
  for (int i = 0; i <= 1000; ++i) EXPECT_NEAR(half_cosine(i / 1000.0), std::cos(kPi * i / 1000.0), 1e-15) << i;
}

TEST(Schedule, constant_schedule_is_one) {
  EXPECT_EQ(schedule_factor({}, {0, 0}), 1);
  EXPECT_EQ(schedule_factor({}, {1000, 1}), 1);
}

TEST(Schedule, warm_up_grows_linearly_to_one) {
  const ScheduleOptions options{.warmup = 4};
  EXPECT_EQ(schedule_factor(options, {0, 0}), 0.25);
  EXPECT_EQ(schedule_factor(options, {1, 0}), 0.5);
  EXPECT_EQ(schedule_factor(options, {3, 0}), 1);
  EXPECT_EQ(schedule_factor(options, {4, 0}), 1);
}

TEST(Schedule, cosine_schedule_falls_from_one_to_the_floor) {
  const ScheduleOptions options{.kind = ScheduleKind::cosine, .floor = 0.1};
  EXPECT_NEAR(schedule_factor(options, {0, 0}), 1, 1e-15);
  EXPECT_NEAR(schedule_factor(options, {9, 0.5}), 0.55, 1e-15);
  EXPECT_NEAR(schedule_factor(options, {9, 1}), 0.1, 1e-15);
  EXPECT_NEAR(schedule_factor(options, {9, 2}), 0.1, 1e-15);
  double last = 2;
  for (int i = 0; i <= 100; ++i) {
    const double factor = schedule_factor(options, {i, i / 100.0});
    EXPECT_LT(factor, last);
    last = factor;
  }
}

}  // namespace
}  // namespace unfold
