#include "data/tasks/series_tasks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

TEST(Narma, narma_follows_its_recurrence) {
  const auto task = narma({.length = 300, .skip = 20});
  Example e;
  for (Index number = 0; number < 5; ++number) {
    task->example(TaskSplit::training, 3, number, e);
    std::vector<double> y(301, 0.0);
    for (std::size_t t = 0; t < 300; ++t) {
      double sum = 0;
      for (std::size_t k = 0; k < 10 && k <= t; ++k) sum += y[t - k];
      const double late = t >= 9 ? static_cast<double>(e.values[t - 9]) : 0, now = static_cast<double>(e.values[t]);
      y[t + 1] = 0.3 * y[t] + 0.05 * y[t] * sum + 1.5 * late * now + 0.1;
      EXPECT_TRUE(now >= 0 && now <= 0.5);
      if (t < 20)
        EXPECT_TRUE(std::isnan(e.target_values[t]));
      else
        EXPECT_NEAR(e.target_values[t], y[t + 1], 1e-6) << t;
    }
  }
}

TEST(MackeyGlass, mackey_glass_series_agrees_with_smaller_steps) {
  // Euler's method with steps of 1/1000, from the same history; chaotic divergence is slow.
  constexpr int kPerUnit = 1000, kUnits = 1040, kDelay = 17 * kPerUnit;
  std::vector<double> x(kDelay + kUnits * kPerUnit + 1, 1.2);
  for (std::size_t s = kDelay; s + 1 < x.size(); ++s) {
    const double late = x[s - kDelay];
    x[s + 1] = x[s] + (0.2 * late / (1 + std::pow(late, 10)) - 0.1 * x[s]) / kPerUnit;
  }
  const std::vector<double> series = mackey_glass_series(1, 17, 1.2);
  EXPECT_NEAR(series[0], std::tanh(x[kDelay + 1000 * kPerUnit] - 1), 0.05);
  double low = 1, high = -1;
  for (const double v : mackey_glass_series(2000, 17, 1.2)) low = std::fmin(low, v), high = std::fmax(high, v);
  EXPECT_LT(low, -0.4);
  EXPECT_GT(high, 0.25);
}

TEST(MackeyGlass, mackey_glass_series_stays_at_its_fixed_point) {
  for (const double x : mackey_glass_series(20, 17, 1)) EXPECT_NEAR(x, 0, 1e-12);  // 0.2 / 2 = 0.1
}

TEST(MackeyGlass, series_is_read_and_predicted_one_step_apart) {
  const auto task = mackey_glass({.length = 50, .skip = 0});
  Example e;
  task->example(TaskSplit::validation, 1, 4, e);
  for (std::size_t t = 0; t + 1 < 50; ++t) EXPECT_EQ(e.target_values[t], e.values[t + 1]);
  EXPECT_THROW(mackey_glass({.tau = 17.03}), UsageError);
}

TEST(DelayLine, delay_line_predicts_its_previous_input) {
  const auto task = delay_line({.length = 30, .skip = 5, .delays = 3});
  Example e;
  task->example(TaskSplit::test, 1, 0, e);
  for (std::size_t t = 0; t < 30; ++t)
    for (std::size_t k = 1; k <= 3; ++k) {
      if (t < 5)
        EXPECT_TRUE(std::isnan(e.target_values[3 * t + k - 1]));
      else
        EXPECT_EQ(e.target_values[3 * t + k - 1], e.values[t - k]);
    }
  EXPECT_THROW(delay_line({.length = 30, .delays = 30}), UsageError);
  EXPECT_THROW(narma({.length = 30, .skip = 30}), UsageError);
}

}  // namespace
}  // namespace unfold
