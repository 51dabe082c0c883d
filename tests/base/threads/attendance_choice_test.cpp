#include "base/threads/attendance_choice.h"

#include <gtest/gtest.h>

namespace unfold {
namespace {

using namespace std::chrono_literals;
using Clock = AttendanceChoice::Clock;

/// Regions of a program on a simulated clock.
struct Simulation {
  AttendanceChoice choice{2, Attendance::adaptive};
  Clock::time_point now{};
  Clock::duration together{}, alone{}, waited{};

  /// Runs regions for a time and returns the share of them in which all threads took part.
  double share_together(Clock::duration time) {
    int regions = 0, all = 0;
    for (const Clock::time_point end = now + time; now < end; ++regions) {
      if (choice.all(now)) {
        ++all;
        now += together;
        choice.note_all(now, together, waited);
      } else {
        now += alone;
        choice.note_alone(now, alone);
      }
    }
    return static_cast<double>(all) / regions;
  }
};

TEST(AttendanceChoice, short_regions_that_are_faster_alone_are_run_alone) {
  Simulation s{.together = 80us, .alone = 50us};
  s.share_together(1s);
  EXPECT_LT(s.share_together(20s), 0.02);
}

TEST(AttendanceChoice, short_regions_that_are_faster_together_are_run_together) {
  Simulation s{.together = 50us, .alone = 80us};
  s.share_together(1s);
  EXPECT_GT(s.share_together(20s), 0.98);
}

TEST(AttendanceChoice, follows_a_change_of_the_durations) {
  Simulation s{.together = 80us, .alone = 50us};
  s.share_together(30s);
  s.together = 30us;
  s.share_together(6s);
  EXPECT_GT(s.share_together(20s), 0.98);
}

TEST(AttendanceChoice, long_regions_end_a_decision_for_short_ones) {
  Simulation s{.together = 80us, .alone = 50us};
  s.share_together(30s);
  s.together = 5ms;
  s.alone = 9ms;
  s.share_together(20ms);
  EXPECT_EQ(s.share_together(20s), 1);
}

TEST(AttendanceChoice, regions_that_are_short_only_together_are_run_together) {
  Simulation s{.together = 400us, .alone = 2ms};
  s.share_together(1s);
  EXPECT_GT(s.share_together(20s), 0.99);
}

TEST(AttendanceChoice, a_caller_that_mostly_waits_works_alone) {
  Simulation s{.together = 10ms, .alone = 6ms, .waited = 8ms};
  s.share_together(1s);
  EXPECT_LT(s.share_together(60s), 0.1);
}

TEST(AttendanceChoice, fixed_attendance_does_not_change) {
  AttendanceChoice all(2, Attendance::all);
  Clock::time_point now{};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(all.all(now));
    now += 80us;
    all.note_all(now, 80us, 70us);
  }
}

}  // namespace
}  // namespace unfold
