#include "distributed/background.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace unfold {
namespace {

TEST(Background, background_tasks_run_in_order) {
  Background background;
  std::vector<int> done;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 100; ++i) background.give([&done, i] { done.push_back(i); });
    background.wait();
    ASSERT_EQ(done.size(), 100u * static_cast<std::size_t>(round));
    for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], static_cast<int>(i % 100));
  }
}

TEST(Background, background_reports_whether_it_is_awaited) {
  Background background;
  EXPECT_FALSE(background.pace().awaited);
  background.give([&] {
    while (!background.pace().awaited) std::this_thread::yield();
  });
  background.wait();
  EXPECT_FALSE(background.pace().awaited);
}

TEST(Background, exception_is_rethrown_and_ends_the_background_work) {
  Background background;
  bool more = false;
  background.give([&] {
    while (!background.pace().awaited) std::this_thread::yield();  // until the results are awaited
    throw std::runtime_error("broken");
  });
  background.give([&] { more = true; });
  EXPECT_THROW(background.wait(), std::runtime_error);
  EXPECT_FALSE(more);
  background.give([&] { more = true; });
  background.wait();
  EXPECT_TRUE(more);
}

TEST(Background, abandoned_background_work_is_canceled) {
  bool more = false;
  {
    Background background;
    background.give([&] {
      while (!background.pace().is_canceled) std::this_thread::yield();
    });
    background.give([&] { more = true; });
  }
  EXPECT_FALSE(more);
}

TEST(Background, waiting_without_tasks_returns_immediately) { Background().wait(); }

}  // namespace
}  // namespace unfold
