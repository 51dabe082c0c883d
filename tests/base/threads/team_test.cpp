#include "unfold/base/threads/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/interruptible.h"
#include "base/threads/start_thread.h"
#include "tests/base/late_members.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

class EveryTeam : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, EveryTeam, testing::Values(1, 2, 3, 4));

TEST_P(EveryTeam, runs_the_body_once_for_each_member) {
  Team team(GetParam(), Attendance::all);
  EXPECT_EQ(team.size(), GetParam());
  for (int run = 0; run < 200; ++run) {
    std::vector<int> calls(static_cast<std::size_t>(GetParam()));
    team.run([&](Member& me) {
      EXPECT_EQ(me.size(), GetParam());
      ++calls[static_cast<std::size_t>(me.id())];
    });
    EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(GetParam()), 1));
  }
}

TEST_P(EveryTeam, writes_before_the_barrier_are_visible_after_it) {
  Team team(GetParam(), Attendance::all);
  std::vector<std::vector<int>> values(2, std::vector<int>(static_cast<std::size_t>(GetParam())));
  std::atomic<int> wrong{0};
  team.run([&](Member& me) {
    for (int step = 1; step <= 3000; ++step) {
      std::vector<int>& now = values[static_cast<std::size_t>(step % 2)];  // plain memory: a race would be reported
      now[static_cast<std::size_t>(me.id())] = step;
      me.sync();
      for (const int value : now) wrong += value != step;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(EveryTeam, barrier_waits_for_late_members) {
  Team team(GetParam(), Attendance::all);
  std::atomic<int> arrived{0}, wrong{0};
  team.run([&](Member& me) {
    for (int step = 1; step <= 5; ++step) {
      if (me.id() == step % me.size()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++arrived;
      me.sync();
      wrong += arrived != step * me.size();
      me.sync();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(EveryTeam, wakes_from_sleep) {
  Team team(GetParam(), Attendance::all);
  for (int run = 0; run < 10; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> members{0};
    team.run([&](Member&) { ++members; });
    EXPECT_EQ(members, GetParam());
  }
}

TEST_P(EveryTeam, exception_is_rethrown_and_waiting_members_are_released) {
  Team team(GetParam(), Attendance::all);
  for (int thrower = 0; thrower < GetParam(); ++thrower) {
    std::atomic<int> passed{0};
    try {
      team.run([&](Member& me) {
        me.sync();
        if (me.id() == thrower) throw std::runtime_error("member " + std::to_string(thrower));
        me.sync();
        ++passed;
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "member " + std::to_string(thrower));
    }
    EXPECT_EQ(passed, 0);
    std::atomic<int> members{0};  // the team can be used again
    team.run([&](Member& me) {
      me.sync();
      ++members;
      me.sync();
    });
    EXPECT_EQ(members, GetParam());
  }
}

TEST_P(EveryTeam, first_of_many_exceptions_is_rethrown) {
  Team team(GetParam(), Attendance::all);
  for (int run = 0; run < 100; ++run) {
    EXPECT_THROW(team.run([](Member& me) { throw std::out_of_range(std::to_string(me.id())); }), std::out_of_range);
  }
}

TEST_P(EveryTeam, shares_everything_once_in_order_and_in_grains) {
  Team team(GetParam(), Attendance::all);
  for (const Index grain : {1, 3, 16}) {
    for (Index n = 0; n < 100; ++n) {
      std::vector<Range> parts(static_cast<std::size_t>(GetParam()));
      team.run([&](Member& me) { parts[static_cast<std::size_t>(me.id())] = me.share(n, grain); });
      Index end = 0;
      for (const Range& part : parts) {
        EXPECT_EQ(part.begin, end);
        EXPECT_TRUE(part.end == n || part.end % grain == 0);
        EXPECT_LE(part.begin, part.end);
        EXPECT_LE(part.size(), (n / GetParam() / grain + 2) * grain);
        end = part.end;
      }
      EXPECT_EQ(end, n);
    }
  }
}

TEST(Team, adaptive_team_runs_alone_if_members_are_slow) {
  for (const int threads : {2, 4}) {
    Team team(threads, Attendance::adaptive);
    EXPECT_EQ(team.size(), threads);
    EXPECT_TRUE(testing_support::comes_to(team, threads, std::chrono::milliseconds(0), 3));
    EXPECT_TRUE(testing_support::comes_to(team, 1, std::chrono::milliseconds(3), 100));
    EXPECT_THROW(team.run([](Member&) { throw std::out_of_range("alone or not"); }), std::out_of_range);
    EXPECT_TRUE(testing_support::comes_to(team, threads, std::chrono::milliseconds(0), 1));
  }
}

TEST(Team, full_team_waits_for_every_member) {
  Team team(2, Attendance::all);
  for (int run = 0; run < 30; ++run)
    team.run([](Member& me) {
      EXPECT_EQ(me.size(), 2);
      if (me.id() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      me.sync();
    });
}

TEST(Team, fickle_team_sometimes_runs_alone) {
  Team team(3, Attendance::fickle);
  std::vector<int> seen(4);
  for (int run = 0; run < 100; ++run)
    team.run([&](Member& me) {
      if (me.id() == 0) ++seen[static_cast<std::size_t>(me.size())];
    });
  EXPECT_GT(seen[1], 20);
  EXPECT_GT(seen[3], 20);
  EXPECT_EQ(seen[1] + seen[3], 100);
}

TEST(Team, team_without_attendance_is_adaptive_or_follows_the_environment) {
  const char* const set = std::getenv("UNFOLD_TEAM");
  const std::string before = set == nullptr ? "" : set;
  ::setenv("UNFOLD_TEAM", "", 1);
  EXPECT_EQ(default_attendance(), Attendance::adaptive);
  ::setenv("UNFOLD_TEAM", "all", 1);
  EXPECT_EQ(default_attendance(), Attendance::all);
  ::setenv("UNFOLD_TEAM", "fickle", 1);
  EXPECT_EQ(default_attendance(), Attendance::fickle);
  ::setenv("UNFOLD_TEAM", "none", 1);
  EXPECT_THROW(default_attendance(), UsageError);
  ::setenv("UNFOLD_TEAM", before.c_str(), 1);
}

TEST(Team, empty_team_and_empty_function_are_refused) {
  EXPECT_THROW(Team(0), UsageError);
  EXPECT_THROW(Team(-3), UsageError);
  EXPECT_THROW(Team(1).run({}), UsageError);
  EXPECT_THROW(Team(2, Attendance::all).run({}), UsageError);
}

TEST(Team, thread_that_cannot_be_created_is_a_runtime_failure) {
  const auto start = [](std::errc code) -> int { throw std::system_error(std::make_error_code(code)); };
  for (const std::errc code : {std::errc::resource_unavailable_try_again, std::errc::not_enough_memory})
    EXPECT_THROW(start_thread([&] { return start(code); }), RuntimeFailure);
  EXPECT_EQ(start_thread([] { return 3; }), 3);
}

TEST(Team, nested_region_is_refused) {
  Team team(2, Attendance::all);
  EXPECT_THROW(team.run([&](Member& me) {
    if (me.id() == 0) team.run([](Member&) {});
  }),
               UsageError);
}

/// Starts a thread for every id, and counts the regions. With `refuse`, it provides no threads.
class CountingPool : public ThreadPool {
 public:
  bool run(int threads, void (*body)(void* context, int id), void* context) override {
    if (refuse) return false;
    ++regions;
    std::vector<std::thread> others;
    for (int id = 1; id < threads; ++id) others.emplace_back([=] { body(context, id); });
    body(context, 0);
    for (std::thread& other : others) other.join();
    return true;
  }

  int regions = 0;
  bool refuse = false;
};

TEST(Team, team_on_a_pool_uses_its_threads) {
  CountingPool pool;
  Team team(3, pool, Attendance::all);
  EXPECT_EQ(team.size(), 3);
  for (int run = 1; run <= 5; ++run) {
    std::vector<int> calls(3);
    std::atomic<int> wrong{0};
    team.run([&](Member& me) {
      ++calls[static_cast<std::size_t>(me.id())];
      me.sync();
      for (const int count : calls) wrong += count != 1;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(pool.regions, run);
  }
}

TEST(Team, team_on_a_pool_without_threads_runs_alone) {
  CountingPool pool;
  Team team(3, pool, Attendance::all);
  pool.refuse = true;
  int calls = 0;
  team.run([&](Member& me) {
    EXPECT_EQ(me.size(), 1);
    ++calls;
    me.sync();
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(pool.regions, 0);
}

TEST(Team, exception_on_a_pool_is_rethrown_and_the_team_is_usable_afterwards) {
  CountingPool pool;
  Team team(2, pool, Attendance::all);
  for (int failing = 0; failing < 2; ++failing) {
    EXPECT_THROW(team.run([&](Member& me) {
      if (me.id() == failing) throw std::runtime_error("failed");
      me.sync();
    }),
                 std::runtime_error);
    std::atomic<int> complete{0};
    team.run([&](Member& me) {
      me.sync();
      ++complete;
    });
    EXPECT_EQ(complete, 2);
  }
}

TEST(Team, team_without_a_region_is_destroyed_cleanly) {
  for (int i = 0; i < 50; ++i) Team team(3);
}

TEST_P(EveryTeam, StopFlagEndsTheRegionAtTheNextBarrier) {
  Team team(GetParam(), Attendance::all);
  std::atomic<bool> stop{false};
  const auto run = [&] {
    std::atomic<int> passed{0};
    team.run([&](Member& me) {
      me.sync();
      stop = true;
      me.sync();
      me.sync();  // a thread may already have passed the previous barrier when the flag was set
      ++passed;
    });
    return passed.load();
  };
  EXPECT_EQ(run(), GetParam());  // not requested by the caller
  {
    const Interruptible within(&stop);
    EXPECT_THROW(run(), BrokenOff);  // returns immediately: the flag is set
    stop = false;
    EXPECT_THROW(run(), BrokenOff);
    const Interruptible never(nullptr);
    EXPECT_EQ(run(), GetParam());
  }
  EXPECT_EQ(run(), GetParam());
}

}  // namespace
}  // namespace unfold
