#include "model/selection/intermittent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/selection/automatic.h"
#include "tests/model/forecast/reference_series.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

using Values = std::vector<double>;

/// Returns independent demands from 1 to 5 with a probability.
Values random_demand(Index n, double share, std::uint64_t seed) {
  Random random(seed, "demand");
  Values values(at(n), 0.0);
  for (double& x : values) {
    const double size = 1 + std::floor(5 * random.uniform());
    if (random.uniform() < share) x = size;
  }
  return values;
}

std::vector<AutomaticForecast> forecasts_of(const std::vector<UnivariateSeries>& series,
                                            const AutomaticOptions& options) {
  Team team(1);
  return forecast_automatically(series, options, team);
}

/// TSB and the Syntetos-Boylan approximation in a literal form, with given rates.
Values smoothed(const Values& y, bool every_step, double alpha, double beta) {
  double sum = 0, count = 0;
  for (const double x : y) sum += x, count += x != 0;
  double size = sum / count, share = count / static_cast<double>(y.size()), interval = 1 / share, since = 0;
  Values fitted;
  for (const double x : y) {
    fitted.push_back(every_step ? share * size : (1 - alpha / 2) * size / interval);
    ++since;
    if (x != 0) {
      size = alpha * x + (1 - alpha) * size;
      interval = beta * since + (1 - beta) * interval;
      since = 0;
    }
    share = beta * (x != 0) + (1 - beta) * share;
  }
  fitted.push_back(every_step ? share * size : (1 - alpha / 2) * size / interval);
  return fitted;
}

TEST(Croston, TheRatesMinimizeTheSquaredErrors) {
  const Values y = random_demand(80, 0.3, 5);
  for (const bool every_step : {false, true}) {
    double least = std::numeric_limits<double>::infinity(), expected = 0;
    for (const double alpha : {0.01, 0.02, 0.05, 0.1, 0.2, 0.3})
      for (const double beta : {0.01, 0.02, 0.05, 0.1, 0.2, 0.3}) {
        if (!every_step && alpha != beta) continue;
        const Values fitted = smoothed(y, every_step, alpha, beta);
        double squares = 0;
        for (std::size_t t = 0; t < y.size(); ++t) squares += (y[t] - fitted[t]) * (y[t] - fitted[t]);
        if (squares < least) least = squares, expected = fitted.back();
      }
    const auto model = make_forecaster(every_step ? "tsb" : "sba");
    model->fit({.values = y});
    const Forecast f = model->forecast(3);
    for (const double mean : f.mean) EXPECT_NEAR(mean, expected, 1e-12 * expected);
    EXPECT_NEAR(f.deviation[2], std::sqrt(least / 80), 1e-9);
  }
}

TEST(Croston, MissingValuesAreSkipped) {
  Values y = random_demand(60, 0.3, 6), gaps = y;
  for (Index t = 10; t < 30; t += 5) gaps.insert(gaps.begin() + t, std::nan(""));
  for (const char* name : {"sba", "tsb"}) {
    const auto all = make_forecaster(name), some = make_forecaster(name);
    all->fit({.values = y}), some->fit({.values = gaps});
    EXPECT_DOUBLE_EQ(all->forecast(1).mean[0], some->forecast(1).mean[0]);
  }
}

TEST(Intermittent, MostlyZerosWithoutAPattern) {
  for (const double share : {0.05, 0.2, 0.4})
    EXPECT_TRUE(is_intermittent({.values = random_demand(120, share, 1)})) << share;
  EXPECT_FALSE(is_intermittent({.values = random_demand(120, 0.7, 1)}));
  EXPECT_FALSE(is_intermittent({.values = kNile}));
  EXPECT_FALSE(is_intermittent({.values = Values(50, 0.0)}));
  EXPECT_FALSE(is_intermittent({.values = {}}));
  Values negative = random_demand(120, 0.2, 1);
  negative[7] = -1;
  EXPECT_FALSE(is_intermittent({.values = negative}));
}

TEST(Intermittent, LaunchesAndEndsOfAProductAreNot) {
  Values launched(100, 0.0), ended(100, 0.0);
  for (Index t = 0; t < 30; ++t) launched[at(70 + t)] = ended[at(t)] = 20 + static_cast<double>(t % 7);
  EXPECT_FALSE(is_intermittent({.values = launched}));
  EXPECT_FALSE(is_intermittent({.values = ended}));
}

TEST(Intermittent, ZerosOfASeasonAreNot) {
  Values night;
  for (Index t = 0; t < 240; ++t) night.push_back(t % 24 < 14 ? 0 : 5 + static_cast<double>(t % 5));
  EXPECT_FALSE(is_intermittent({.values = night, .period = 24}));
  EXPECT_TRUE(is_intermittent({.values = random_demand(240, 0.3, 2), .period = 24}));
}

TEST(Intermittent, QuantilesOfRareDemandAreZero) {
  const DemandDistribution demand(Values{0, 0, 2, 0, 4, 0, 0, 6, 0, 0});  // mean size 4
  EXPECT_EQ(demand.quantile(0.4, 0.1), 0);
  EXPECT_EQ(demand.quantile(0.4, 0.9), 0);  // a demand has the probability 0.1
  EXPECT_DOUBLE_EQ(demand.quantile(0.4, 0.95), 4);
  EXPECT_DOUBLE_EQ(demand.quantile(0.4, 0.99), 6);
  EXPECT_DOUBLE_EQ(demand.quantile(8, 0.5), 8);  // there is a demand at every step, of double size
  EXPECT_EQ(demand.quantile(0, 0.99), 0);
}

TEST(Intermittent, ForecastsAreTheMeanDemandAndDoNotFollowTheLastValue) {
  std::vector<UnivariateSeries> series;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    series.push_back({.values = random_demand(66, 0.15, 100 + seed)});
    series.back().values.back() = seed % 3 == 0 ? 5 : 0;
  }
  double forecast = 0;
  for (const AutomaticForecast& one : forecasts_of(series, {.horizon = 6})) {
    EXPECT_TRUE(one.intermittent);
    for (const double x : one.lower[0]) EXPECT_EQ(x, 0);
    for (const MemberReport& member : one.members)
      if (member.name == "naive" || member.name == "drift" || member.name == "seasonal-naive") {
        EXPECT_EQ(member.weight, 0) << member.name;
        EXPECT_NE(member.note.find("intermittent"), std::string::npos) << member.note;
      }
    forecast += one.mean[0] / 30;
  }
  EXPECT_NEAR(forecast, 0.15 * 3, 0.15);
}

TEST(Intermittent, SeriesWithoutHeldOutDemandKeepTheirMean) {
  Values y(60, 0.0);
  for (const std::size_t t : {3, 11, 18, 20, 31, 36, 47}) y[t] = 1 + static_cast<double>(t % 4);
  ASSERT_TRUE(is_intermittent({.values = y}));
  const AutomaticForecast f = forecasts_of({{.values = y}}, {.horizon = 2, .origins = 3}).front();
  double mean = 0;
  for (const double x : y) mean += x / 60;
  ASSERT_GT(mean, 0);
  EXPECT_GT(f.mean[0], 0.3 * mean);
  EXPECT_LT(f.mean[0], 1.2 * mean);
}

TEST(Intermittent, StatedMembersAreUsed) {
  const std::vector<UnivariateSeries> series(1, {.values = random_demand(60, 0.2, 9)});
  const AutomaticForecast f = forecasts_of(series, {.horizon = 3, .members = {"naive"}}).front();
  EXPECT_EQ(f.mean, Values(3, series.front().values.back()));
  EXPECT_FALSE(f.intermittent);
  EXPECT_GT(f.upper[0][0], f.mean[0]);  // not a quantile of a demand with this mean, which may be 0
}

TEST(Intermittent, OtherSeriesOfAPanelDoNotDependOnIntermittentOnes) {
  std::vector<UnivariateSeries> series;
  Random random(3, "noise");
  for (Index s = 0; s < 20; ++s) {
    Values& values = series.emplace_back().values;
    for (Index t = 0; t < 50; ++t) values.push_back(10 + random.normal());
  }
  const AutomaticOptions options{.horizon = 4, .coverage = {0.8, 0.95}};
  const auto alone = forecasts_of(series, options);
  for (std::uint64_t seed = 0; seed < 20; ++seed) series.push_back({.values = random_demand(50, 0.2, seed)});
  const auto mixed = forecasts_of(series, options);
  for (std::size_t s = 0; s < alone.size(); ++s) {
    for (std::size_t h = 0; h < 4; ++h) {
      EXPECT_DOUBLE_EQ(alone[s].mean[h], mixed[s].mean[h]);
      EXPECT_DOUBLE_EQ(alone[s].upper[1][h], mixed[s].upper[1][h]);
    }
  }
}

}  // namespace
}  // namespace unfold::forecasting
