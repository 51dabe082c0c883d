#include "distributed/background.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace unfold {
namespace {

TEST(Background, does_one_thing_after_another) {
  Background background;
  std::vector<int> done;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 100; ++i) background.give([&done, i] { done.push_back(i); });
    background.wait();
    ASSERT_EQ(done.size(), 100u * static_cast<std::size_t>(round));
    for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], static_cast<int>(i % 100));
  }
}

TEST(Background, knows_whether_it_is_awaited) {
  Background background;
  EXPECT_FALSE(background.pace().awaited);
  background.give([&] {
    while (!background.pace().awaited) std::this_thread::yield();
  });
  background.wait();
  EXPECT_FALSE(background.pace().awaited);
}

TEST(Background, hands_over_what_was_thrown_and_does_nothing_more) {
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

TEST(Background, breaks_off_what_nobody_wants_any_more) {
  bool more = false;
  {
    Background background;
    background.give([&] {
      while (!background.pace().is_cancelled) std::this_thread::yield();
    });
    background.give([&] { more = true; });
  }
  EXPECT_FALSE(more);
}

TEST(Background, waits_for_nothing_where_nothing_was_given) { Background().wait(); }

}  // namespace
}  // namespace unfold
