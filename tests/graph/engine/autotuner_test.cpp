#include "graph/engine/autotuner.h"

#include <gtest/gtest.h>

#include <numeric>

namespace unfold {
namespace {

/// Runs the trial `times` times with these costs; returns how often each alternative was used.
std::vector<int> run(Trial& trial, const std::vector<double>& costs, int times) {
  std::vector<int> counts(costs.size());
  for (int i = 0; i < times; ++i) {
    trial.choose();
    ++counts[trial.now()];
    trial.note(costs[trial.now()]);
  }
  return counts;
}

TEST(Trial, trial_tries_every_alternative_and_keeps_the_cheapest) {
  Trial trial(3);
  EXPECT_EQ(run(trial, {3, 1, 2}, 9), (std::vector<int>{3, 3, 3}));
  EXPECT_EQ(run(trial, {3, 1, 2}, 100), (std::vector<int>{0, 100, 0}));
}

TEST(Trial, trial_overhead_is_below_one_percent) {
  for (const double other : {1.01, 1.2, 2.0, 3.0}) {
    Trial trial(2);
    run(trial, {1, other}, 6);
    const std::vector<int> counts = run(trial, {1, other}, 20000);
    EXPECT_GT(counts[1], 0) << other;  // it tries the alternatives again
    EXPECT_LT(counts[1] * (other - 1), 0.01 * 20000) << other;
  }
}

TEST(Trial, trial_adapts_to_changing_costs) {
  Trial trial(2);
  const std::vector<double> quiet = {1, 1.7}, busy = {12, 2};
  run(trial, quiet, 500);
  const std::vector<int> counts = run(trial, busy, 1000);
  EXPECT_LT(counts[0], 20);
  run(trial, quiet, 1000);
  EXPECT_GT(run(trial, quiet, 1000)[0], 980);
}

TEST(Trial, trial_ignores_a_single_interruption) {
  Trial trial(2);
  run(trial, {1, 1.2}, 50);
  run(trial, {100, 1.2}, 1);
  EXPECT_EQ(run(trial, {1, 1.2}, 20), (std::vector<int>{20, 0}));
}

TEST(Trial, single_alternative_needs_no_trial) {
  Trial trial(1);
  EXPECT_EQ(run(trial, {5}, 10), (std::vector<int>{10}));
  EXPECT_EQ(trial.now(), 0u);
}

}  // namespace
}  // namespace unfold
