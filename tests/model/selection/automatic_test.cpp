#include "model/selection/automatic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/forecast/measures.h"
#include "model/selection/combination.h"
#include "model/selection/conformal_intervals.h"
#include "model/selection/covariate_effect.h"
#include "model/selection/panel.h"
#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

using Values = std::vector<double>;
const std::vector<std::string> kQuick = {"seasonal-naive", "naive", "drift", "mean", "theta", "seasonal-ar", "ar"};

AutomaticForecast forecast_of(const Values& y, Index period, const AutomaticOptions& options) {
  Team team(1);
  const UnivariateSeries series{y, period};
  return forecast_automatically({&series, 1}, options, team)[0];
}

TEST(Backtest, OriginsKeepValuesOnBothSides) {
  EXPECT_EQ(backtest_origins(144, 24, 12, 0), (std::vector<Index>{48, 66, 84, 102, 120}));
  EXPECT_EQ(backtest_origins(1000, 10, 1, 3), (std::vector<Index>{970, 980, 990}));
  for (Index n = 0; n < 60; ++n)
    for (const Index horizon : {1, 4, 100})
      for (const Index period : {1, 4, 12}) {
        const std::vector<Index> origins = backtest_origins(n, horizon, period, 0);
        EXPECT_EQ(origins.empty(), n < 4) << n;
        for (const Index origin : origins) EXPECT_TRUE(origin >= 2 && origin < n) << n << " " << origin;
        EXPECT_TRUE(std::ranges::is_sorted(origins));
      }
}

TEST(Backtest, ErrorsComeFromFitsToThePast) {
  const std::vector<Index> origins{50, 56};
  const MemberBacktest result = backtest({"naive"}, {kNile, 1}, origins, 4);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto n = static_cast<std::ptrdiff_t>(origins[k]);
    const Values history(kNile.begin(), kNile.begin() + n), actual(kNile.begin() + n, kNile.begin() + n + 4);
    EXPECT_DOUBLE_EQ(result.errors[k], mase(actual, Values(4, history.back()), seasonal_scale(history, 1)));
  }
  EXPECT_DOUBLE_EQ(result.error, (result.errors[0] + result.errors[1]) / 2);
}

TEST(Backtest, ASingleOriginIsForecastWithTheWeightsOfTheForecast) {
  const UnivariateSeries series{.values = kNile};
  const std::vector<Index> origins{55};
  const Values typical{1, 1, 0.5};
  std::vector<MemberBacktest> members;
  for (const char* name : {"naive", "mean", "drift"}) members.push_back(backtest({name}, series, origins, 5));
  const CombinationBacktest result = backtest_combination(members, series, origins, 5, {.typical = typical});
  std::vector<const PointsAndWidths*> forecasts;
  for (const MemberBacktest& member : members) forecasts.push_back(&member.forecasts[0]);
  const PointsAndWidths combined = combine(forecasts, result.weights);
  const double scale = error_scale(std::span(kNile).first(55), 1);
  EXPECT_DOUBLE_EQ(result.error, scaled_error(std::span(kNile).subspan(55), combined.mean, scale));
}

TEST(Backtest, WeightsFallWithTheErrorAndLeaveOutBadMembers) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Values weights = combination_weights(Values{1, 1.2, 1.6, infinite});
  EXPECT_NEAR(weights[0] / weights[1], std::pow(1.2, 4), 1e-12);
  EXPECT_EQ(weights[2], 0);
  EXPECT_EQ(weights[3], 0);
  EXPECT_NEAR(weights[0] + weights[1], 1, 1e-15);
  EXPECT_EQ(combination_weights(Values{infinite}), (Values{0}));
}

MemberBacktest backtest_of(const Values& errors) {
  MemberBacktest result;
  result.errors = errors;
  for (const double x : errors) result.error += x / static_cast<double>(errors.size());
  return result;
}

TEST(Panel, TypicalErrorsAreGeometricMeansOfRatios) {
  const double infinite = std::numeric_limits<double>::infinity();
  MemberBacktest failed;
  failed.error = infinite;
  const std::vector<std::vector<MemberBacktest>> backtests{
      {backtest_of({2}), backtest_of({1, 3}), backtest_of({8}), failed},  // median 2
      {backtest_of({20}), backtest_of({10}), backtest_of({5}), failed}};  // median 10
  const Values typical = typical_errors(backtests);
  EXPECT_NEAR(typical[0], std::sqrt(1.0 * 2.0), 1e-12);
  EXPECT_NEAR(typical[1], 1, 1e-12);
  EXPECT_NEAR(typical[2], std::sqrt(4.0 * 0.5), 1e-12);
  EXPECT_EQ(typical[3], infinite);
}

/// The weights of a series with typical errors, computed as they are defined.
TEST(Panel, WeightsAreThoseOfAveragedErrors) {
  const UnivariateSeries series{kNile, 1};
  const std::vector<Index> origins{45, 50, 55};
  std::vector<MemberBacktest> members;
  for (const char* name : {"naive", "mean", "theta"}) members.push_back(backtest({name}, series, origins, 5));
  const Values typical{2, 0.5, 1};
  const CombinationBacktest result =
      backtest_combination(members, series, origins, 5, {.typical = typical, .exponent = kPanelExponent});
  double own = 0, others = 0;
  for (std::size_t m = 0; m < 3; ++m) own += std::log(members[m].error) / 3, others += std::log(typical[m]) / 3;
  Values errors;
  for (std::size_t m = 0; m < 3; ++m)
    errors.push_back(std::exp((3 * (std::log(members[m].error) - own) + 5 * (std::log(typical[m]) - others)) / 8));
  const double best = *std::ranges::min_element(errors);
  double sum = 0;
  for (double& error : errors) sum += error = error <= 1.5 * best ? std::pow(best / error, kPanelExponent) : 0;
  for (std::size_t m = 0; m < 3; ++m) EXPECT_NEAR(result.weights[m], errors[m] / sum, 1e-9) << m;
}

TEST(Panel, UsualErrorsDependOnTheForm) {
  const std::vector<Member> members{{"ets"},   {"arima+box-cox"},   {"theta+yearly"}, {"seasonal-naive+yearly"},
                                    {"naive"}, {"seasonal-ar+log"}, {"drift+known"},  {"mean"}};
  EXPECT_EQ(usual_errors(members, false), (Values{1, 1, 1, 1.25, 1.25, 1.25, 1.25, 2}));
  EXPECT_EQ(usual_errors(members, true), (Values{1.25, 1.25, 1, 1.25, 1.5625, 1.5625, 1.5625, 2.5}));
}

TEST(Panel, FewOriginsDoNotDecideAlone) {
  const UnivariateSeries series{kNile, 1};
  const std::vector<Index> origins{45, 50, 55};
  const std::vector<Member> members{{"naive"}, {"theta"}, {"mean"}};
  std::vector<MemberBacktest> backtests;
  for (const Member& member : members) backtests.push_back(backtest(member, series, origins, 5));
  const Values usual = usual_errors(members, false);
  const Values with = backtest_combination(backtests, series, origins, 5, {.typical = usual}).weights;
  const Values without = backtest_combination(backtests, series, origins, 5, {}).weights;
  EXPECT_GT(with[1], without[1]);
  EXPECT_LT(with[2], without[2]);
}

/// Returns a backtest whose forecasts are the values plus an offset.
MemberBacktest backtest_with_offset(const UnivariateSeries& series, std::span<const Index> origins, Index horizon,
                                    double offset) {
  MemberBacktest result;
  for (const Index origin : origins) {
    PointsAndWidths& forecast = result.forecasts.emplace_back();
    for (const double x : held_out(series, origin, horizon)) forecast.mean.push_back(x + offset);
    forecast.below.assign(forecast.mean.size(), 1), forecast.above.assign(forecast.mean.size(), 1);
  }
  score_backtest(result, series, origins, horizon);
  return result;
}

/// Typical errors do not bring back a member with more than twice the error, if enough values are compared.
TEST(Panel, ClearlyWorseMembersAreNotCombined) {
  UnivariateSeries series;
  Random random(9, "panel test");
  for (int t = 0; t < 300; ++t) series.values.push_back(random.normal());
  const Values typical{2, 1};
  const auto weight_of = [&](const std::vector<Index>& origins, Index horizon, double offset) {
    const std::vector<MemberBacktest> members{backtest_with_offset(series, origins, horizon, 1),
                                              backtest_with_offset(series, origins, horizon, offset)};
    return backtest_combination(members, series, origins, horizon, {.typical = typical}).weights[1];
  };
  EXPECT_GT(weight_of({180, 210, 240, 270}, 30, 1.9), 0.3);
  EXPECT_EQ(weight_of({180, 210, 240, 270}, 30, 2.1), 0);
  EXPECT_GT(weight_of({240, 270}, 30, 2.1), 0.3);
  EXPECT_GT(weight_of({280, 285, 290, 295}, 5, 2.1), 0.3);
}

TEST(Panel, MembersThatDoNotImproveTheCombinationAreDropped) {
  const std::vector<Index> origins{45, 50, 55};
  UnivariateSeries series{kNile, 1};
  for (const Index origin : origins) series.values[at(origin) - 1] = 5000;  // naive fails
  SampledSeries one{&series, origins, {}};
  for (const char* name : {"mean", "naive", "mean"}) one.backtests.push_back(backtest({name}, series, origins, 5));
  const std::vector<std::size_t> copy{2}, only{0, 2};
  EXPECT_EQ(members_that_pay({&one, 1}, copy, 5), (std::vector<bool>{true, true, false}));
  // The copy is not needed; then the mean itself is, because naive is worse.
  EXPECT_EQ(members_that_pay({&one, 1}, only, 5), (std::vector<bool>{false, true, true}));
}

/// Members that are usually better get more weight in a series whose own backtest has few origins.
TEST(Panel, ManySeriesShareTheirErrors) {
  std::vector<UnivariateSeries> series;
  Random random(8, "panel test");
  for (int k = 0; k < 40; ++k) {
    Values y;
    for (int t = 0; t < 16; ++t) y.push_back(100 + 2 * t + 6 * random.normal());
    series.push_back({y, 1});
  }
  Team team(1);
  const AutomaticOptions options{.horizon = 4, .members = {"naive", "drift", "mean"}};
  const auto together = forecast_automatically(series, options, team);
  double weight = 0, alone = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (const MemberReport& member : together[i].members) weight += member.name == "drift" ? member.weight : 0;
    const AutomaticForecast one = forecast_automatically({&series[i], 1}, options, team)[0];
    for (const MemberReport& member : one.members) alone += member.name == "drift" ? member.weight : 0;
  }
  EXPECT_GT(weight, alone + 2);
}

TEST(Panel, BudgetGrowsWithTheNumberOfSeries) {
  EXPECT_EQ(default_budget(1), 2e10);
  EXPECT_EQ(default_budget(200), 1e11);
  EXPECT_EQ(default_budget(100'000), 3e11);
}

/// Expensive members are tried on a sample only, if cheap ones are as good.
TEST(Panel, DroppedMembersAreReported) {
  std::vector<UnivariateSeries> series;
  Random random(9, "panel test");
  for (int k = 0; k < 201; ++k) {
    Values y;
    for (int t = 0; t < 24; ++t) y.push_back(50 + random.normal());
    series.push_back({y, 1});
  }
  Team one(1), two(2);
  std::vector<std::string> dropped;
  AutomaticOptions options{.horizon = 3};
  options.network_budget = 1;
  options.on_dropped = [&](const std::vector<std::string>& names) { dropped = names; };
  const auto a = forecast_automatically(series, options, one);
  EXPECT_NE(std::ranges::find(dropped, "arima"), dropped.end());
  for (const MemberReport& member : a[7].members)
    EXPECT_EQ(std::ranges::find(dropped, member.name), dropped.end()) << member.name;
  const auto b = forecast_automatically(series, options, two);
  for (std::size_t i = 0; i < series.size(); ++i) EXPECT_EQ(a[i].mean, b[i].mean);
}

TEST(AutomaticForecast, BudgetCountsMissingValues) {
  UnivariateSeries series{std::vector<double>(504, 1.0), 24};
  const auto plans_arima = [&] {
    const std::vector<std::string> members = plan_members({&series, 1}, {.horizon = 4}).members;
    return std::ranges::find(members, "arima") != members.end();
  };
  EXPECT_TRUE(plans_arima());
  series.values[100] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(plans_arima()) << "its filter for missing values is slow with long seasons";
}

TEST(AutomaticForecast, BeatsTheMembersThatItShould) {
  const Values history(kAirline.begin(), kAirline.end() - 12), actual(kAirline.end() - 12, kAirline.end());
  const AutomaticForecast f = forecast_of(history, 12, {.horizon = 12});
  const double scale = seasonal_scale(history, 12);
  const auto naive = make_forecaster("seasonal-naive");
  naive->fit({history, 12});
  EXPECT_LT(mase(actual, f.mean, scale), 0.5 * mase(actual, naive->forecast(12).mean, scale));
  EXPECT_GT(f.origins, 2);
  double weights = 0;
  for (const MemberReport& member : f.members) weights += member.weight;
  EXPECT_NEAR(weights, 1, 1e-12);
}

TEST(AutomaticForecast, DefinedAnswersForSpecialSeries) {
  const AutomaticOptions options{.horizon = 3, .coverage = {0.8, 0.95}, .members = kQuick};
  AutomaticForecast f = forecast_of(Values(30, 5), 1, options);
  EXPECT_EQ(f.mean, Values(3, 5));
  EXPECT_EQ(f.lower[0], Values(3, 5));
  EXPECT_EQ(f.upper[1], Values(3, 5));
  EXPECT_NE(f.note, "");

  f = forecast_of(Values(5, kMissing), 1, options);
  EXPECT_TRUE(std::isnan(f.mean[0]) && std::isnan(f.lower[0][2]));
  EXPECT_NE(f.note, "");

  f = forecast_of({1, 4, 6}, 1, options);
  EXPECT_EQ(f.mean, Values(3, 6));
  EXPECT_TRUE(f.lower[0][0] < 6 && f.upper[0][0] > 6);

  // A single value contains no information about the others.
  f = forecast_of({7}, 1, options);
  EXPECT_EQ(f.mean, Values(3, 7));
  EXPECT_TRUE(std::isnan(f.lower[0][0]) && std::isnan(f.upper[1][2]));
  EXPECT_NE(f.note, "");

  Values growing;
  for (int t = 0; t < 40; ++t) growing.push_back(std::exp(0.5 * t));
  f = forecast_of(growing, 1, options);
  for (const double x : f.mean) EXPECT_TRUE(std::isfinite(x) && x > 0);
}

TEST(AutomaticForecast, IntervalsDoNotCollapse) {
  const AutomaticOptions options{.horizon = 28, .coverage = {0.8}, .members = {"ets"}};
  const AutomaticForecast f = forecast_of({126, 93, 120, 151, 271}, 1, options);
  for (std::size_t h = 1; h < 28; ++h) {
    EXPECT_GE(f.upper[0][h] - f.mean[h], f.upper[0][h - 1] - f.mean[h - 1] - 1e-9) << h;
    EXPECT_GT(f.upper[0][h], f.mean[h]);
  }
}

/// The forecast of a growing series continues to grow, although its next differences exceed all previous ones.
TEST(AutomaticForecast, ContinuesExponentialGrowth) {
  Random random(3, "automatic test");
  Values y;
  for (int t = 0; t < 60; ++t) y.push_back(10 * std::exp(0.2 * t + 0.02 * random.normal()));
  const AutomaticForecast f = forecast_of(y, 1, {.horizon = 12, .coverage = {0.8}});
  for (int h = 0; h < 12; ++h) EXPECT_NEAR(std::log(f.mean[at(h)] / 10), 0.2 * (60 + h), 0.25) << h;
}

/// A single outlier changes neither the forecast nor the intervals much, wherever it is.
TEST(AutomaticForecast, OutliersDoNotRuinForecasts) {
  Random random(4, "automatic test");
  Values clean;
  for (int t = 0; t < 96; ++t) clean.push_back(100 + 0.3 * t + (t % 12 == 5 ? 15 : 0) + random.normal());
  const AutomaticForecast expected = forecast_of(clean, 12, {.horizon = 12, .coverage = {0.8}});
  EXPECT_TRUE(expected.outliers.empty());
  for (const int place : {3, 50, 90, 93, 94, 95}) {
    for (const double value : {0.0, 1e6, -1e9}) {
      Values y = clean;
      y[at(place)] = value;
      const AutomaticForecast f = forecast_of(y, 12, {.horizon = 12, .coverage = {0.8}});
      ASSERT_EQ(f.outliers.size(), 1u) << place << " " << value;
      EXPECT_EQ(f.outliers[0].place, place);
      EXPECT_EQ(f.outliers[0].value, value);
      for (int h = 0; h < 12; ++h) {
        EXPECT_NEAR(f.mean[at(h)], expected.mean[at(h)], 3) << place << " " << value;
        EXPECT_LT(f.upper[0][at(h)] - f.lower[0][at(h)], 15) << place << " " << value;
      }
    }
  }
}

TEST(Outliers, ChangesAndRareEventsAreNotOutliers) {
  Random random(5, "automatic test");
  Values level, middle, growth, rare, spikes, last;
  for (int t = 0; t < 120; ++t) {
    level.push_back((t < 118 ? 10 : 500) + random.normal());
    middle.push_back((t < 60 ? 100 : 1100) + 3 * random.normal());
    growth.push_back(std::exp(0.4 * t));
    rare.push_back(t % 37 == 36 ? 50 : 0);
    spikes.push_back((t % 12 == 3 ? 400 : 10) + random.normal());
    last.push_back(1.0 / (1 + std::fabs(random.normal())));
  }
  for (const Values& y : {level, middle, growth, rare, spikes, last}) {
    EXPECT_TRUE(find_outliers({.values = y, .period = 1}).empty());
    EXPECT_TRUE(find_outliers({.values = y, .period = 12}).empty());
  }
}

/// Returns 300 days with a weekly season.
Values weekly_values(Random& random) {
  Values y;
  for (int t = 0; t < 300; ++t) y.push_back(50 + 10 * std::sin(2 * 3.14159265 * t / 7) + random.normal());
  return y;
}

TEST(Outliers, UpToOneInTwentyAreFound) {
  Random random(6, "automatic test");
  const Values clean = weekly_values(random);
  const std::vector<Index> places = {20, 31, 60, 61, 77, 110, 113, 149, 150, 190, 199, 230, 252, 270, 292};
  for (const std::size_t count : {1U, 2U, 5U, 9U, 15U})
    for (const Index period : {1, 7}) {
      Values y = clean;
      for (std::size_t k = 0; k < count; ++k)
        y[at(places[k])] = k % 3 == 2 ? -2500 : 3000 + 200.0 * static_cast<double>(k);
      const std::vector<Outlier> found = find_outliers({.values = y, .period = period});
      ASSERT_EQ(found.size(), count) << period;
      const Values restored = without_outliers({.values = y, .period = period});
      for (std::size_t k = 0; k < count; ++k) {
        EXPECT_EQ(found[k].place, places[k]);
        EXPECT_EQ(restored[at(places[k])], found[k].expected);
        EXPECT_NEAR(found[k].expected, clean[at(places[k])], 25);
      }
    }
}

TEST(Outliers, MoreThanOneInTwentyAreTypical) {
  Random random(7, "automatic test");
  Values y = weekly_values(random);
  for (int k = 0; k < 25; ++k) y[at(12 * k + k * k % 9)] = 3000;
  EXPECT_TRUE(find_outliers({.values = y, .period = 7}).empty());
}

TEST(Outliers, RegularEventsAreNotOutliers) {
  Random random(8, "automatic test");
  const Values clean = weekly_values(random);
  Values monthly = clean, glitch, weekly = clean;
  for (int t = 14, k = 0; t < 300; t += k++ % 2 == 0 ? 31 : 28) monthly[at(t)] = 400;
  for (int t = 11; t < 300; t += 52) weekly[at(t)] = 400;
  for (const Values& y : {monthly, weekly}) EXPECT_TRUE(find_outliers({.values = y, .period = 7}).empty());
  glitch = monthly;
  glitch[121] = -1e6;
  const std::vector<Outlier> found = find_outliers({.values = glitch, .period = 7});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 121);
}

TEST(Outliers, YearlyEventsAreNotOutliers) {
  Random random(9, "automatic test");
  UnivariateSeries daily{.period = 7};
  for (int t = 0; t < 1000; ++t) {
    daily.values.push_back(100 + 3 * random.normal());
    daily.days.push_back(366 * (2020 + t / 365) + t % 365);
    if (t % 365 == 330 || t % 365 == 358) daily.values.back() = 400;
  }
  EXPECT_TRUE(find_outliers(daily).empty());
  daily.values[100] = 5000;
  const std::vector<Outlier> found = find_outliers(daily);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 100);
}

/// Values of skewed and intermittent series stay as they are.
TEST(Outliers, SkewedAndIntermittentSeriesHaveNone) {
  Random random(10, "automatic test");
  for (int k = 0; k < 20; ++k) {
    Values skewed, intermittent;
    for (int t = 0; t < 200; ++t) {
      skewed.push_back(std::exp(1.5 * random.normal()));
      const double size = std::floor(std::exp(1 + random.normal())), draw = random.normal();
      intermittent.push_back(draw > 0.3 ? size : 0);
    }
    EXPECT_TRUE(find_outliers({.values = skewed}).empty());
    EXPECT_TRUE(find_outliers({.values = intermittent, .period = 7}).empty());
  }
}

TEST(AutomaticForecast, EveryLengthAndGapHasAnAnswer) {
  const AutomaticOptions options{.horizon = 6, .members = kQuick};
  for (std::size_t n = 1; n < 40; ++n) {
    Values y(kNile.begin(), kNile.begin() + static_cast<int>(n));
    for (std::size_t t = 0; t < n; t += 3) y[t] = n % 2 == 0 ? kMissing : y[t];
    if (n == 2) y[1] = 3;
    const AutomaticForecast f = forecast_of(y, n % 3 == 0 ? 4 : 1, options);
    const auto observed = std::ranges::count_if(y, [](double x) { return !std::isnan(x); });
    for (std::size_t h = 0; h < 6; ++h) {
      EXPECT_TRUE(std::isfinite(f.mean[h])) << n;
      if (observed == 1) continue;  // without an interval
      EXPECT_LE(f.lower[0][h], f.mean[h]) << n;
      EXPECT_GE(f.upper[0][h], f.mean[h]) << n;
    }
  }
}

TEST(AutomaticForecast, NonNegativeSeriesStayNonNegative) {
  Random random(5, "automatic test");
  Values y;
  for (int t = 0; t < 80; ++t) y.push_back(std::max(0.0, std::floor(2 * random.normal())));
  const AutomaticForecast f = forecast_of(y, 1, {.horizon = 10, .coverage = {0.95}, .members = kQuick});
  for (std::size_t h = 0; h < 10; ++h) {
    EXPECT_GE(f.lower[0][h], 0);
    EXPECT_GE(f.mean[h], 0);
  }
}

TEST(AutomaticForecast, ThreadsDoNotChangeBits) {
  std::vector<UnivariateSeries> series;
  for (std::uint64_t k = 0; k < 5; ++k) series.push_back({simulated_series(50, k), 4});
  series.push_back({Values(9, kMissing), 1});
  const AutomaticOptions options{.horizon = 4, .members = kQuick};
  Team one(1), three(3);
  const auto a = forecast_automatically(series, options, one), b = forecast_automatically(series, options, three);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(a[i].mean, b[i].mean);
    EXPECT_EQ(a[i].lower, b[i].lower);
    EXPECT_EQ(a[i].upper, b[i].upper);
  }
}

TEST(AutomaticForecast, IntervalsCoverWhatTheySay) {
  std::vector<UnivariateSeries> series;
  std::vector<Values> actual;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const Values y = simulated_series(70, 100 + k);
    series.push_back({Values(y.begin(), y.end() - 6), 4});
    actual.push_back(Values(y.end() - 6, y.end()));
  }
  Team team(1);
  const auto forecasts =
      forecast_automatically(series, {.horizon = 6, .coverage = {0.8, 0.95}, .members = kQuick}, team);
  double inside[2] = {0, 0};
  for (std::size_t i = 0; i < series.size(); ++i)
    for (std::size_t level = 0; level < 2; ++level)
      for (std::size_t h = 0; h < 6; ++h)
        inside[level] += forecasts[i].lower[level][h] <= actual[i][h] && actual[i][h] <= forecasts[i].upper[level][h];
  EXPECT_NEAR(inside[0] / 360, 0.8, 0.08);
  EXPECT_NEAR(inside[1] / 360, 0.95, 0.04);
}

TEST(AutomaticForecast, SmallBudgetsLeaveOutExpensiveMembers) {
  const std::vector<UnivariateSeries> series(1000, {kAirline, 12});
  const AutomaticPlan plan = plan_members(series, {.budget = 1e9, .network_budget = 1e3});
  EXPECT_NE(std::ranges::find(plan.members, "theta"), plan.members.end());
  EXPECT_NE(std::ranges::find(plan.left_out, "ets"), plan.left_out.end());
  EXPECT_EQ(plan_members({series.data(), 1}, {}).left_out.size(), 0U);
  EXPECT_GT(plan.operations, 0);
  EXPECT_LE(plan.operations, 1e9);
  EXPECT_EQ(member_operations("arima", 9000, 24), member_operations("arima", 2000, 24))
      << "arima reads the last 2000 values";
}

/// A weekly season, a random walk, and an effect of 8 on some days.
UnivariateSeries promoted_series(std::size_t n, std::size_t horizon, std::uint64_t seed) {
  Random random(seed, "covariate test");
  UnivariateSeries series{.values = {}, .period = 7, .known = {{}}};
  double level = 100;
  for (std::size_t t = 0; t < n + horizon; ++t) {
    level += 0.3 * random.normal();
    const double promotion = random.uniform() < 0.15 ? 1 : 0;
    series.known[0].push_back(promotion);
    if (t < n) series.values.push_back(level + (t % 7 > 4 ? 6 : 0) + 8 * promotion + 0.7 * random.normal());
  }
  return series;
}

TEST(CovariateEffect, IsEstimatedWithTrendAndSeason) {
  const UnivariateSeries series = promoted_series(2000, 0, 1);
  const CovariateEffect effect(series);
  EXPECT_NEAR(effect.coefficients()[0], 8, 0.2);
  EXPECT_THROW(effect.effect(series, 2000), DataError);
}

TEST(CovariateEffect, IsPartOfTheForecast) {
  UnivariateSeries series = promoted_series(150, 14, 2), without = series;
  without.known.clear();
  std::fill(series.known[0].end() - 14, series.known[0].end(), 0);
  series.known[0][155] = 1;
  Team team(1);
  const AutomaticOptions options{.horizon = 14, .members = {"seasonal-naive", "ets+known", "ets", "arima+known"}};
  const AutomaticForecast f = forecast_automatically({&series, 1}, options, team)[0];
  const AutomaticForecast plain = forecast_automatically({&without, 1}, options, team)[0];
  EXPECT_LT(f.error, 0.7 * plain.error);
  EXPECT_NEAR(f.mean[5] - f.mean[12], 8, 1.5);  // the same day of the week, with and without promotion
  EXPECT_NEAR(plain.mean[5] - plain.mean[12], 0, 1.5);
}

TEST(AutomaticForecast, WrongOptionsRaiseErrors) {
  EXPECT_THROW(forecast_of(kNile, 1, {.horizon = 0}), UsageError);
  EXPECT_THROW(forecast_of(kNile, 1, {.horizon = 1, .coverage = {1.0}}), UsageError);
  EXPECT_THROW(forecast_of(kNile, 1, {.horizon = 1, .members = {"prophet"}}), UsageError);
}

}  // namespace
}  // namespace unfold::forecasting
