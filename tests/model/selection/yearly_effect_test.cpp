#include "model/selection/yearly_effect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/cells/civil_date.h"
#include "model/forecast/measures.h"
#include "model/forecast/time_index.h"
#include "model/selection/automatic.h"
#include "model/selection/backtest.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

/// Returns the days of a series that begins on 2019-01-07, a Monday.
std::vector<Index> days_of_series(Index step, Index count) {
  std::vector<Moment> dates(3);
  for (Index t = 0; t < 3; ++t) dates[at(t)].days = days_from_civil(2019, 1, 7) + t * step;
  return TimeIndex::of_dates(dates, DateFormat::year_month_day)->days(count);
}

/// Returns the rise before Christmas, which depends on the date only.
double rise(Index day) {
  const double distance = static_cast<double>(day % 366 - 345);
  return std::exp(-0.5 * distance * distance / 200);
}

/// Weekly or daily values with a rise of the given height in every December; `noise` is the deviation of the values,
/// `wander` that of the steps of the level.
UnivariateSeries series_with_rise(Index step, Index count, Index horizon, double height, double noise, double wander,
                                  std::uint64_t seed) {
  Random random(seed, "yearly effect test");
  UnivariateSeries series{.period = step == 1 ? 7 : 1, .days = days_of_series(step, count + horizon)};
  double level = 100;
  for (Index t = 0; t < count; ++t) {
    level += wander * random.normal();
    const double week = step == 1 && t % 7 > 4 ? 15 : 0;
    series.values.push_back(level * (1 + height * rise(series.days[at(t)])) + week + noise * random.normal());
  }
  series.yearly = find_yearly_effect(series, horizon);
  return series;
}

TEST(YearlyEffect, DaysAreCountedAsInLeapYears) {
  const std::vector<Index> days = days_of_series(1, 800);
  const auto place = [&](Index year, Index month, Index day) {
    return days[at(days_from_civil(year, month, day) - days_from_civil(2019, 1, 7))];
  };
  EXPECT_EQ(place(2019, 12, 24) + 366, place(2020, 12, 24));
  EXPECT_EQ(place(2020, 2, 29) + 1, place(2020, 3, 1));
  EXPECT_EQ(place(2019, 2, 28) + 2, place(2019, 3, 1));
  EXPECT_EQ(place(2020, 1, 1), 366 * 2020);
  EXPECT_EQ(days_of_series(7, 3), (std::vector<Index>{366 * 2019 + 6, 366 * 2019 + 13, 366 * 2019 + 20}));
  EXPECT_TRUE(days_of_series(30, 3).empty());
}

TEST(YearlyEffect, FollowsTheDates) {
  for (const Index step : {1, 7}) {
    const Index count = 1110 / step, horizon = 28 / step;
    const UnivariateSeries series = series_with_rise(step, count, horizon, 0.8, 3, 0, 1);
    ASSERT_GT(series.yearly.share, 0) << step;
    const YearlyEffect effect(series);
    double error = 0, size = 0;
    for (Index t = count - 366 / step; t < count + horizon; ++t) {
      error += std::fabs(effect.scale(t) / effect.scale(count - 180 / step) - 1 - 0.8 * rise(series.days[at(t)]));
      size += 0.8 * rise(series.days[at(t)]);
    }
    EXPECT_LT(error, 0.5 * size) << step;
  }
}

TEST(YearlyEffect, IsAddedAgain) {
  UnivariateSeries series = series_with_rise(7, 120, 8, 0.8, 3, 0.2, 2);
  for (const double offset : {0.0, -150.0}) {  // relative and absolute deviations
    for (double& x : series.values) x += offset;
    series.yearly = find_yearly_effect(series, 8);
    ASSERT_GT(series.yearly.share, 0);
    const YearlyEffect effect(series);
    for (Index t = 0; t < 128; ++t) EXPECT_NEAR(effect.restore(effect.remove(70, t), t), 70, 1e-9) << t;
  }
}

TEST(YearlyEffect, MissingDatesAreAverages) {
  UnivariateSeries series = series_with_rise(1, 800, 28, 0.8, 3, 0.2, 3);
  for (std::size_t t = 0; t < 800; t += 5) series.values[t] = std::nan("");
  EXPECT_GT(find_yearly_effect(series, 28).share, 0);
}

TEST(YearlyEffect, NoDatesHaveNoEffect) {
  UnivariateSeries series = series_with_rise(7, 160, 8, 0.8, 3, 0.2, 4);
  series.days.clear();
  EXPECT_EQ(find_yearly_effect(series, 8).share, 0);
  series.yearly = {};
  EXPECT_EQ(YearlyEffect(series).restore(7, 165), 7);
  EXPECT_EQ(series_with_rise(7, 50, 8, 0.8, 3, 0.2, 4).yearly.share, 0) << "less than a year";
}

/// Series without a yearly season rarely seem to have one.
TEST(YearlyEffect, IsRareWithoutASeason) {
  Index noise = 0, walk = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    noise += series_with_rise(7, 130, 8, 0, 5, 0, seed).yearly.share > 0;
    walk += series_with_rise(7, 130, 8, 0, 0, 1, seed).yearly.share > 0;
  }
  EXPECT_LE(noise, 12);
  EXPECT_LE(walk, 12);
}

TEST(YearlyEffect, MembersForecastTheRise) {
  double with_effect = 0, without_effect = 0;
  for (std::uint64_t seed = 5; seed <= 8; ++seed) {
    // The last values are of the beginning of December 2021.
    UnivariateSeries series = series_with_rise(7, 152, 6, 0.8, 3, 0.3, seed);
    std::vector<double> actual;
    for (Index t = 152; t < 158; ++t) actual.push_back(100 * (1 + 0.8 * rise(series.days[at(t)])));
    Team team(1);
    const AutomaticForecast with = forecast_automatically({&series, 1}, {.horizon = 6}, team)[0];
    double weight = 0;
    for (const MemberReport& member : with.members)
      if (member.name.ends_with("+yearly")) weight += member.weight;
    EXPECT_GT(weight, 0.5) << seed;
    series.days.clear();
    const AutomaticForecast without = forecast_automatically({&series, 1}, {.horizon = 6}, team)[0];
    with_effect += mase(actual, with.mean, 1), without_effect += mase(actual, without.mean, 1);
  }
  EXPECT_LT(with_effect, 0.5 * without_effect);
}

TEST(YearlyEffect, OriginsIncludeTheTimeOfTheYear) {
  UnivariateSeries series = series_with_rise(7, 170, 4, 0.8, 3, 0.2, 7);
  const std::vector<Index> usual = backtest_origins(170, 4, 1, 0);
  EXPECT_EQ(usual, (std::vector<Index>{150, 154, 158, 162, 166}));
  EXPECT_EQ(with_earlier_years(usual, series, 170), (std::vector<Index>{66, 118, 158, 162, 166}));
  EXPECT_EQ(with_earlier_years({162, 166}, series, 170), (std::vector<Index>{118, 166}));
  EXPECT_EQ(with_earlier_years({50, 80, 110, 140, 160}, series, 170), (std::vector<Index>{50, 80, 110, 140, 160}))
      << "they include it already";
  series.days.clear();
  EXPECT_EQ(with_earlier_years(usual, series, 170), usual);
}

TEST(YearlyEffect, InnerPeriodIsShort) {
  UnivariateSeries series = series_with_rise(1, 800, 28, 0.8, 3, 0.2, 6);
  EXPECT_EQ(YearlyEffect::inner_period(series), 7);
  series.period = 365;
  EXPECT_EQ(YearlyEffect::inner_period(series), 7);
  series = series_with_rise(7, 160, 8, 0.8, 3, 0.2, 6);
  series.period = 52;
  EXPECT_EQ(YearlyEffect::inner_period(series), 1);
  series.days.clear();
  EXPECT_EQ(YearlyEffect::inner_period(series), 52);
}

}  // namespace
}  // namespace unfold::forecasting
