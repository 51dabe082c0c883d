#include "cli/terminal/heartbeat.h"

#include <gtest/gtest.h>

#include <atomic>

namespace unfold::test {
namespace {

using std::chrono::milliseconds;

/// Waits until a condition holds, however busy the machine is.
template <class Condition>
void wait_until(Condition&& condition) {
  while (!condition()) std::this_thread::sleep_for(milliseconds(1));
}

TEST(Heartbeat, heartbeat_reports_after_each_silence_until_stopped) {
  std::atomic<int> calls = 0;
  std::atomic<double> longest = 0;
  Heartbeat heartbeat(milliseconds(5), [&](double seconds) {
    ++calls;
    longest = seconds;
  });
  wait_until([&] { return calls >= 3; });
  EXPECT_GE(longest, 0.015);  // since the last heartbeat, not since the last call
  heartbeat.stop();
  const int before = calls;
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(calls, before);
}

TEST(Heartbeat, heartbeat_is_silent_before_its_interval) {
  std::atomic<int> calls = 0;
  {
    Heartbeat heartbeat(milliseconds(3600'000), [&](double) { ++calls; });
    heartbeat.beat();
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace unfold::test
