#include "model/selection/weekly_effect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/forecast/measures.h"
#include "model/selection/automatic.h"
#include "model/selection/backtest.h"
#include "model/selection/panel.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// Hourly values from a Monday with a daily pattern, which is lower on weekends by the share `weekend`, and noise that
/// is an autoregression.
UnivariateSeries hourly(Index weeks, double weekend, std::uint64_t seed, double noise = 4, double correlation = 0.6) {
  Random random(seed, "weekly effect test");
  UnivariateSeries series{.period = 24, .weekly = {.day = 24, .week = 168}};
  double error = 0;
  for (Index t = 0; t < 168 * weeks; ++t) {
    error = correlation * error + noise * std::sqrt(1 - correlation * correlation) * random.normal();
    const double hour = static_cast<double>(t % 24), height = t / 24 % 7 > 4 ? 1 - weekend : 1;
    series.values.push_back(60 + 40 * height * std::exp(-0.5 * (hour - 14) * (hour - 14) / 16) + error);
  }
  series.weekly.share = find_weekly_effect(series);
  return series;
}

TEST(WeeklyEffect, IsTheDifferenceBetweenTheDays) {
  UnivariateSeries series = hourly(6, 0.5, 1);
  EXPECT_GT(series.weekly.share, 0.8);
  const UnivariateSeries exact = hourly(6, 0.5, 1, 0);
  EXPECT_EQ(exact.weekly.share, 1);
  const WeeklyEffect effect(exact);
  for (Index t = 168; t < 336; ++t) {
    const double value = exact.values[at(t)], rest = effect.remove(value, t);
    EXPECT_NEAR(effect.restore(rest, t), value, 1e-12);
    EXPECT_NEAR(rest, effect.remove(exact.values[at(t % 24 + 168)], t % 24 + 168), 0.6) << t;  // equal days
    EXPECT_NEAR(effect.restore(0, t), effect.restore(0, t + 168 * 5), 0.6) << t;               // after the end
  }
}

TEST(WeeklyEffect, IsNotFoundWithoutDifferences) {
  Index found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    for (const double correlation : {0.0, 0.6, 0.95}) found += hourly(5, 0, seed, 4, correlation).weekly.share > 0;
  EXPECT_LE(found, 6);  // of 120
}

TEST(WeeklyEffect, NeedsThreeWeeks) {
  EXPECT_EQ(hourly(2, 0.5, 1).weekly.share, 0);
  EXPECT_GT(hourly(3, 0.5, 1).weekly.share, 0);
  UnivariateSeries daily = hourly(6, 0.5, 1);
  daily.weekly = {};
  EXPECT_EQ(find_weekly_effect(daily), 0);
  UnivariateSeries one = hourly(3, 0.5, 1);
  one.values.resize(300);
  EXPECT_THROW(WeeklyEffect{one}, DataError);
}

TEST(WeeklyEffect, ValuesMayBeMissing) {
  UnivariateSeries series = hourly(6, 0.5, 1);
  const double share = series.weekly.share;
  for (std::size_t t = 0; t < series.values.size(); t += 5) series.values[t] = kMissing;
  EXPECT_NEAR(find_weekly_effect(series), share, 0.1);
  series.values.resize(series.values.size() + 2000, kMissing);
  EXPECT_NEAR(find_weekly_effect(series), share, 0.1);
  std::fill(series.values.begin() + 100, series.values.begin() + 1000, kMissing);
  EXPECT_EQ(find_weekly_effect(series), 0);
}

TEST(WeeklyEffect, NegativeValuesHaveAbsoluteEffects) {
  UnivariateSeries series = hourly(6, 0.5, 2);
  for (double& x : series.values) x -= 100;
  EXPECT_GT(find_weekly_effect(series), 0.8);
}

TEST(WeeklyEffect, SeasonalNaiveRepeatsTheWeek) {
  const UnivariateSeries series = hourly(4, 0.5, 3);
  const PointsAndWidths forecast = fit_and_forecast({"seasonal-naive+weekly"}, series, 200);
  for (std::size_t h = 0; h < 200; ++h)
    EXPECT_DOUBLE_EQ(forecast.mean[h], series.values[series.values.size() - 168 + h % 168]) << h;
}

/// Returns the mean absolute error of the last week of a series.
double error_of(const UnivariateSeries& series, bool weekly) {
  Team team(1);
  UnivariateSeries before = series;
  before.values.resize(series.values.size() - 168);
  if (!weekly) before.weekly = {};
  const auto forecast =
      forecast_automatically({&before, 1}, {.horizon = 168, .budget = 3e9, .network_budget = 1}, team);
  return mase(std::span(series.values).last(168), forecast[0].mean, 1);
}

TEST(WeeklyEffect, ReducesTheErrors) {
  double with = 0, without = 0, naive = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const UnivariateSeries series = hourly(7, 0.5, seed);
    with += error_of(series, true), without += error_of(series, false);
    const std::span<const double> all = series.values;
    naive += mase(all.last(168), all.subspan(all.size() - 336, 168), 1);
  }
  EXPECT_LT(with, 0.85 * naive);
  EXPECT_LT(with, without);
}

TEST(WeeklyEffect, MembersWithoutItUsuallyHaveLargerErrors) {
  const std::vector<Member> members{{"theta"}, {"theta+weekly"}, {"seasonal-naive+weekly"}, {"ets+weekly+known"}};
  EXPECT_EQ(usual_errors(members, true), (std::vector<double>{1.25, 1, 1.25, 1}));
}

TEST(WeeklyEffect, ChangesNothingIfThereIsNone) {
  const UnivariateSeries series = hourly(5, 0, 1);
  ASSERT_EQ(series.weekly.share, 0);
  Team team(1);
  UnivariateSeries plain = series;
  plain.weekly = {};
  const AutomaticOptions options{.horizon = 24, .budget = 1e9, .network_budget = 1};
  EXPECT_EQ(forecast_automatically({&series, 1}, options, team)[0].mean,
            forecast_automatically({&plain, 1}, options, team)[0].mean);
}

}  // namespace
}  // namespace unfold::forecasting
