#include "model/forecast/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "model/forecast/decomposition.h"
#include "model/forecast/tail_probability.h"
#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

using Values = std::vector<double>;

TEST(ForecastSeries, InterpolatesLinearlyAndExtendsTheEnds) {
  EXPECT_EQ(interpolate_missing(Values{kMissing, 2, kMissing, kMissing, 8, kMissing}), (Values{2, 2, 4, 6, 8, 8}));
}

TEST(ForecastSeries, InterpolationFollowsTheSeason) {
  Values y;
  for (int t = 0; t < 40; ++t) y.push_back(t + (t % 4 == 0 ? 20 : 0));
  Values with_gap = y;
  with_gap[16] = with_gap[21] = kMissing;
  const Values filled = interpolate_missing(with_gap, 4);
  EXPECT_NEAR(filled[16], y[16], 0.5);
  EXPECT_NEAR(filled[21], y[21], 0.5);
  EXPECT_EQ(filled[17], y[17]);
}

TEST(ForecastSeries, RaisesErrorsForInfiniteAndForNoValues) {
  EXPECT_THROW(interpolate_missing(Values{kMissing, kMissing}), DataError);
  EXPECT_THROW(interpolate_missing(Values{}), DataError);
  EXPECT_THROW(interpolate_missing(Values{1, std::numeric_limits<double>::infinity()}), DataError);
}

TEST(ForecastSeries, DifferencesKeepMissingValues) {
  EXPECT_EQ(difference(Values{1, 4, 9, 16}), (Values{3, 5, 7}));
  EXPECT_EQ(difference(Values{1, 4, 9, 16}, 2), (Values{8, 12}));
  EXPECT_TRUE(difference(Values{1}, 2).empty());
  EXPECT_TRUE(std::isnan(difference(Values{1, kMissing, 2})[1]));
}

TEST(ForecastSeries, AutocorrelationsEqualHandComputedValues) {
  const Values r = autocorrelations(Values{1, 2, 3, 4}, 2);  // centered: -1.5, -0.5, 0.5, 1.5
  EXPECT_DOUBLE_EQ(r[1], (0.75 - 0.25 + 0.75) / 5);
  EXPECT_DOUBLE_EQ(r[2], (-0.75 - 0.75) / 5);
  EXPECT_EQ(autocorrelations(Values{3, 3, 3}, 1), (Values{1, 0}));
}

TEST(ForecastSeries, CalendarSuggestsPeriods) {
  EXPECT_EQ(calendar_periods(3600), (std::vector<Index>{24, 168}));
  EXPECT_EQ(calendar_periods(86400), (std::vector<Index>{7, 365}));
  EXPECT_EQ(calendar_periods(7 * 86400), (std::vector<Index>{52}));
  EXPECT_EQ(calendar_periods(30 * 86400), (std::vector<Index>{12}));
  EXPECT_EQ(calendar_periods(91 * 86400), (std::vector<Index>{4}));
  EXPECT_TRUE(calendar_periods(365.25 * 86400).empty());
}

TEST(ForecastSeries, DetectsPeriods) {
  EXPECT_EQ(detect_period(kAirline), 12);
  EXPECT_EQ(detect_period(kAirline, std::vector<Index>{4, 12}), 12);
  EXPECT_EQ(detect_period(kNile), 1);
  EXPECT_EQ(detect_period(simulated_series(120, 1)), 4);
  EXPECT_EQ(detect_period(Values(50, 3.0)), 1);
  EXPECT_EQ(detect_period(Values{1, 2}), 1);
  Values line;
  for (int t = 0; t < 60; ++t) line.push_back(0.1 * t);
  EXPECT_EQ(detect_period(line), 1);
}

/// Noise on smooth half-hourly values lowers the first autocorrelation of their differences.
TEST(ForecastSeries, SmoothValuesWithNoiseHaveNoPeriodOfTwo) {
  Random random(7, 0);
  const std::vector<Index> candidates = calendar_periods(1800);
  ASSERT_EQ(candidates, (std::vector<Index>{2, 48, 336}));
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> values, alternating;
    for (Index t = 0; t < 960; ++t) {
      values.push_back(1000 + 300 * std::sin(static_cast<double>(t) * 2 * 3.141592653589793 / 48) +
                       20 * random.normal());
      alternating.push_back(1000 + (t % 2 == 0 ? 40 : 0) + 20 * random.normal());
    }
    EXPECT_EQ(detect_period(values, candidates), 48);
    EXPECT_EQ(detect_period(alternating, candidates), 2);
  }
}

TEST(ForecastSeries, RandomNumbersHaveNoPeriodAtTheNominalLevel) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, "white noise");
    Values y;
    for (int t = 0; t < 100; ++t) y.push_back(random.normal());
    found += detect_period(y) > 1;
  }
  EXPECT_LE(found, 20);
}

// The probabilities are those of SciPy 1.17 (f.sf, chi2.sf, t.sf).
TEST(ForecastSeries, TailsAreThoseOfScipy) {
  EXPECT_NEAR(f_tail(4.2, 3, 10), 0.0364379359937082, 1e-13);
  EXPECT_NEAR(f_tail(2.5, 11, 24), 0.0293457978856239, 1e-13);
  EXPECT_NEAR(f_tail(10, 6, 20), 3.7610530853271484e-05, 1e-13);
  EXPECT_NEAR(f_tail(1.1, 11, 180), 0.3636342484828521, 1e-12);
  EXPECT_EQ(f_tail(1.1, 11, 181), f_tail(1.1, 11, 180));
  EXPECT_EQ(f_tail(2, 3, 1), 1);
  EXPECT_NEAR(chi_squared_tail(3.7, 6), 0.717198024848034, 1e-14);
  EXPECT_NEAR(chi_squared_tail(40, 100), 0.9999999875410739, 1e-12);
  EXPECT_EQ(chi_squared_tail(2500, 24), 0);
  EXPECT_EQ(chi_squared_tail(0, 2), 1);
  EXPECT_NEAR(student_tails(2.3, 4), 0.08293903711238236, 1e-14);
  EXPECT_NEAR(student_tails(2.3, 120), 0.02317593334932906, 1e-13);
  EXPECT_NEAR(student_tails(-2.3, 121), student_tails(2.3, 120), 1e-15);
  EXPECT_EQ(student_tails(5, 1), 1);
}

/// Returns four years of months with a smooth season and large deviations.
Values smooth_months() {
  Values y;
  for (int t = 0; t < 48; ++t)
    y.push_back(static_cast<double>(t * 37 % 101) / 20 + 3 * std::sin(2 * std::numbers::pi * t / 12) + 0.1 * t);
  return y;
}

TEST(ForecastSeries, ShortSeriesHaveThePeriodOfTheCalendar) {
  const std::vector<Index> months{12};
  EXPECT_NEAR(equal_seasons_probability(smooth_months(), 12), 7.436126109458304e-05, 1e-9);
  EXPECT_EQ(detect_period(smooth_months(), months), 12);
  EXPECT_EQ(equal_seasons_probability(Values(48, 3.0), 12), 1);
  EXPECT_EQ(equal_seasons_probability(Values{1, 2, 3, 4, 5, 6, 7}, 4), 1);
  Values line, exact;
  for (int t = 0; t < 48; ++t) line.push_back(0.1 * t), exact.push_back(t % 4);
  EXPECT_EQ(detect_period(line, months), 1);
  EXPECT_LT(equal_seasons_probability(exact, 4), 1e-9);
  int found = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed, "random walk");
    Values walk{0};
    for (int t = 1; t < 50; ++t) walk.push_back(walk.back() + random.normal());
    found += detect_period(walk, months) > 1;
  }
  EXPECT_LE(found, 28);
}

TEST(ForecastSeries, DecompositionOfAnExactSeasonIsExact) {
  const double factors[] = {0.5, 1.5, 1.25, 0.75};
  Values product, sum;
  for (std::size_t t = 0; t < 24; ++t) {
    product.push_back(10 * factors[t % 4]);
    sum.push_back(static_cast<double>(t) + factors[t % 4] - 1);
  }
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(decompose(product, 4, true).season[j], factors[j], 1e-14);
    EXPECT_NEAR(decompose(sum, 4, false).season[j], factors[j] - 1, 1e-14);
  }
  EXPECT_GT(seasonal_strength(sum, 4), 0.999);
}

TEST(ForecastSeries, TestsForDifferences) {
  EXPECT_NEAR(kpss_statistic(kAirline), 2.8061059891672406, 1e-9);
  EXPECT_NEAR(kpss_statistic(kNile), 1.5308541984590214, 1e-9);
  EXPECT_EQ(seasonal_differences(kAirline, 12), 1);
  EXPECT_EQ(seasonal_differences(kNile, 12), 0);
  EXPECT_EQ(first_differences(kNile), 1);
  EXPECT_EQ(first_differences(Values(30, 2.0)), 0);
}

TEST(ForecastSeries, SeasonalStrengthOfNoiseIsBelowTheThreshold) {
  int differenced = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, "white noise");
    Values y;
    for (int t = 0; t < 60; ++t) y.push_back(random.normal());
    differenced += static_cast<int>(seasonal_differences(y, 12));
  }
  EXPECT_LE(differenced, 10);
}

}  // namespace
}  // namespace unfold::forecasting
