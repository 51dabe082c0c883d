#include "model/forecast/forecaster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

const char* const kMembers[] = {"naive", "seasonal-naive", "drift", "mean", "ses",
                                "ets",   "theta",          "arima", "ar",   "seasonal-ar"};

Forecast forecast_of(const char* name, const std::vector<double>& y, Index period, Index horizon,
                     const ForecasterOptions& options = {}) {
  auto model = make_forecaster(name, options);
  model->fit({y, period});
  return model->forecast(horizon);
}

TEST(Forecaster, BenchmarksEqualHandComputedValues) {
  const std::vector<double> y{2, 4, 3, 7, 5, 8};
  Forecast f = forecast_of("naive", y, 1, 2);
  EXPECT_EQ(f.mean, (std::vector<double>{8, 8}));
  EXPECT_NEAR(f.deviation[1], std::sqrt(2 * (4 + 1 + 16 + 4 + 9) / 5.0), 1e-12);
  f = forecast_of("seasonal-naive", y, 2, 3);
  EXPECT_EQ(f.mean, (std::vector<double>{5, 8, 5}));
  EXPECT_NEAR(f.deviation[2], std::sqrt(2 * (1 + 9 + 4 + 1) / 4.0), 1e-12);
  f = forecast_of("drift", y, 1, 2);
  EXPECT_NEAR(f.mean[1], 8 + 2 * 1.2, 1e-12);
  f = forecast_of("mean", y, 1, 1);
  EXPECT_NEAR(f.mean[0], 29 / 6.0, 1e-12);
  EXPECT_NEAR(f.quantile(0, 0.975), f.mean[0] + 1.959963984540054 * f.deviation[0], 1e-9);
}

TEST(Forecaster, ThetaAgreesWithStatsmodels) {
  // statsmodels stops the search for alpha early (0.25524 instead of 0.25440).
  const double nile[] = {821.528, 818.309, 815.09, 811.871, 808.652, 805.433};
  const double airline[] = {309.155, 307.545, 352.763, 338.203, 336.783, 379.397};
  const Forecast a = forecast_of("theta", kNile, 1, 6), b = forecast_of("theta", kAirline, 12, 6);
  for (std::size_t h = 0; h < 6; ++h) {
    EXPECT_NEAR(a.mean[h], nile[h], 0.2);
    EXPECT_NEAR(b.mean[h], airline[h], 0.5);
  }
}

TEST(Forecaster, ForecastsShiftAndScaleWithTheSeries) {
  const std::vector<double> y = affine(simulated_series(60, 4), 1, -50);  // of both signs
  for (const char* name : kMembers) {
    const Forecast f = forecast_of(name, y, 4, 6);
    const Forecast scaled = forecast_of(name, affine(y, 3, 0), 4, 6);
    const Forecast shifted = forecast_of(name, affine(y, -1, 7), 4, 6);
    const Forecast exact = forecast_of(name, affine(y, 8, 0), 4, 6);
    for (std::size_t h = 0; h < 6; ++h) {
      EXPECT_NEAR(scaled.mean[h], 3 * f.mean[h], 0.03) << name;
      EXPECT_NEAR(shifted.mean[h], 7 - f.mean[h], 0.03) << name;
      EXPECT_NEAR(scaled.deviation[h], 3 * f.deviation[h], 0.03) << name;
      EXPECT_EQ(exact.mean[h], 8 * f.mean[h]) << name;
      EXPECT_EQ(exact.deviation[h], 8 * f.deviation[h]) << name;
    }
  }
}

TEST(Forecaster, PositiveSeriesScaleWithTheForecast) {
  for (const char* name : kMembers) {
    const Forecast f = forecast_of(name, kAirline, 12, 6), scaled = forecast_of(name, affine(kAirline, 10, 0), 12, 6);
    for (Index h = 0; h < 6; ++h) {
      EXPECT_NEAR(scaled.mean[at(h)], 10 * f.mean[at(h)], 0.2) << name;
      EXPECT_NEAR(scaled.quantile(h, 0.9), 10 * f.quantile(h, 0.9), 2) << name;
    }
  }
}

TEST(Forecaster, FitsTwiceToTheSameBits) {
  for (const char* name : kMembers) {
    auto first = make_forecaster(name), second = make_forecaster(name);
    first->fit({kNile, 1});  // a fit leaves nothing behind
    first->fit({kAirline, 12});
    second->fit({kAirline, 12});
    const Forecast a = first->forecast(12), b = second->forecast(12);
    EXPECT_EQ(a.mean, b.mean) << name;
    EXPECT_EQ(a.deviation, b.deviation) << name;
    EXPECT_EQ(a.samples, b.samples) << name;
    EXPECT_EQ(first->log_likelihood(), second->log_likelihood()) << name;
  }
}

TEST(Forecaster, SeedDecidesOnSimulatedQuantilesOnly) {
  const Forecast a = forecast_of("ets", kAirline, 12, 4), b = forecast_of("ets", kAirline, 12, 4, {.seed = 1});
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_NE(a.quantile(2, 0.9), b.quantile(2, 0.9));
  EXPECT_NEAR(a.quantile(2, 0.9), b.quantile(2, 0.9), 10);
}

TEST(Forecaster, WidthsGrowForUnitRoots) {
  for (const char* name : {"naive", "drift", "ses", "theta"}) {
    const Forecast f = forecast_of(name, kNile, 1, 8);
    for (std::size_t h = 1; h < 8; ++h) EXPECT_GT(f.deviation[h], f.deviation[h - 1]) << name;
  }
  const Forecast f = forecast_of("arima", kNile, 1, 8);
  for (std::size_t h = 1; h < 8; ++h) EXPECT_GT(f.deviation[h], f.deviation[h - 1]);
}

TEST(Forecaster, ConstantSeriesHaveNoWidth) {
  for (const char* name : kMembers)
    for (const double value : {0.0, 0.1, -3.7, 1e300}) {
      const Forecast f = forecast_of(name, {value, kMissing, value, value, kMissing}, 12, 3);
      EXPECT_EQ(f.mean, (std::vector<double>(3, value))) << name;
      EXPECT_EQ(f.quantile(2, 0.975), value) << name;
      EXPECT_EQ(f.quantile(2, 0.025), value) << name;
      EXPECT_FALSE(f.out_of_range);
    }
}

TEST(Forecaster, ShortSeriesHaveFiniteForecasts) {
  const std::vector<std::vector<double>> series{{1, 2},
                                                {1, 2, 4},
                                                {5, 1, 3},
                                                {0, 0, 1},
                                                {-1, kMissing, 1},
                                                {1, 2, 3, 4},
                                                {1, 5, 2, 6, 3, 7},
                                                {1, 2, 4, 8, 16, 32, 64}};
  for (const char* name : kMembers)
    for (const std::vector<double>& y : series)
      for (const Index period : {1, 2, 12}) {
        auto model = make_forecaster(name);
        model->fit({y, period});
        const Forecast f = model->forecast(5);
        for (Index h = 0; h < 5; ++h) {
          EXPECT_TRUE(std::isfinite(f.mean[at(h)])) << name;
          EXPECT_TRUE(std::isfinite(f.deviation[at(h)])) << name;
          EXPECT_LE(f.quantile(h, 0.1), f.quantile(h, 0.9)) << name;
        }
        EXPECT_EQ(model->residuals().size(), y.size());
      }
}

TEST(Forecaster, MissingValuesOnlyRaiseAnError) {
  for (const char* name : kMembers) {
    EXPECT_THROW(forecast_of(name, {}, 1, 1), DataError);
    EXPECT_THROW(forecast_of(name, {kMissing, kMissing}, 1, 1), DataError);
    EXPECT_THROW(forecast_of(name, {1, std::numeric_limits<double>::infinity()}, 1, 1), DataError);
  }
}

TEST(Forecaster, LeadingMissingValuesChangeNothing) {
  std::vector<double> y = kNile;
  y.insert(y.begin(), 3, kMissing);
  for (const char* name : kMembers) {
    EXPECT_EQ(forecast_of(name, y, 1, 4).mean, forecast_of(name, kNile, 1, 4).mean) << name;
    auto model = make_forecaster(name);
    model->fit({y, 1});
    EXPECT_TRUE(std::isnan(model->residuals()[2]));
    EXPECT_EQ(model->residuals().size(), y.size());
  }
}

TEST(Forecaster, TrailingMissingValuesMoveTheOrigin) {
  std::vector<double> y = kAirline;
  y.insert(y.end(), 2, kMissing);
  for (const char* name : kMembers) {
    const Forecast f = forecast_of(name, y, 12, 3), longer = forecast_of(name, kAirline, 12, 5);
    for (std::size_t h = 0; h < 3; ++h) {
      EXPECT_EQ(f.mean[h], longer.mean[h + 2]) << name;
      EXPECT_EQ(f.deviation[h], longer.deviation[h + 2]) << name;
    }
  }
}

TEST(Forecaster, InteriorMissingValuesMoveForecastsLittle) {
  std::vector<double> y = kAirline;
  for (const std::size_t t : {13, 40, 41, 70}) y[t] = kMissing;
  for (const char* name : kMembers) {
    const Forecast f = forecast_of(name, y, 12, 4), complete = forecast_of(name, kAirline, 12, 4);
    for (std::size_t h = 0; h < 4; ++h) EXPECT_NEAR(f.mean[h], complete.mean[h], 15) << name;
  }
}

TEST(Forecaster, NonNegativeSeriesHaveNonNegativeForecasts) {
  const std::vector<double> falling{9, 8, 8, 6, 5, 5, 4, 3, 2, 1, 1, 0}, sparse{0, 0, 3, 0, 0, 0, 1, 0, 0, 5, 0, 0};
  for (const char* name : kMembers)
    for (const std::vector<double>& y : {falling, sparse}) {
      const Forecast f = forecast_of(name, y, 1, 20);
      for (Index h = 0; h < 20; ++h) {
        EXPECT_GE(f.mean[at(h)], 0) << name;
        EXPECT_GE(f.quantile(h, 0.01), 0) << name;
      }
    }
}

TEST(Forecaster, SeriesWithNegativeValuesAreNotLimited) {
  EXPECT_LT(forecast_of("drift", {3, 1, 0, -1, -3}, 1, 2).mean[1], -3);
}

TEST(Forecaster, ForecastsBeyondTheHistoryAreMarked) {
  std::vector<double> y;
  for (int t = 0; t < 30; ++t) y.push_back(std::ldexp(1.0, t));
  EXPECT_FALSE(forecast_of("drift", y, 1, 10).out_of_range);
  EXPECT_FALSE(forecast_of("theta", kAirline, 12, 24).out_of_range);
  // The logarithms continue linearly: the values double at every step, as they did before.
  const Forecast f = forecast_of("drift", y, 1, 10, {.lambda = 0});
  EXPECT_NEAR(f.mean[9], std::ldexp(1.0, 39), 1e-6 * std::ldexp(1.0, 39));
  EXPECT_FALSE(f.out_of_range);
  // Growth that does not occur in the history: its logarithms increase only by a single jump.
  std::vector<double> jump(29, 1.0);
  jump.push_back(std::ldexp(1.0, 20));
  EXPECT_TRUE(forecast_of("drift", jump, 1, 10, {.lambda = 0}).out_of_range);
  const Forecast overflow = forecast_of("drift", y, 1, 1100, {.lambda = 0});
  EXPECT_TRUE(overflow.out_of_range);
  EXPECT_TRUE(std::isfinite(overflow.mean[1099]));
  EXPECT_TRUE(std::isfinite(overflow.quantile(1099, 0.9)));
}

TEST(Forecaster, HugeAndTinyValuesKeepTheirScale) {
  for (const char* name : kMembers)
    for (const int exponent : {-900, 900}) {
      std::vector<double> y = simulated_series(40, 8), scaled;
      for (const double x : y) scaled.push_back(std::ldexp(x, exponent));
      const Forecast f = forecast_of(name, y, 4, 3), g = forecast_of(name, scaled, 4, 3);
      for (std::size_t h = 0; h < 3; ++h) EXPECT_EQ(std::ldexp(f.mean[h], exponent), g.mean[h]) << name;
    }
}

TEST(Forecaster, TransformationsReturnToTheUnitsOfTheValues) {
  const Forecast f = forecast_of("arima", kAirline, 12, 12, {.lambda = 0});
  for (Index h = 0; h < 12; ++h) {
    EXPECT_NEAR(f.mean[at(h)], kAirline[at(84 + h)] * 1.12, 50);
    EXPECT_LT(f.quantile(h, 0.025), f.mean[at(h)]);
    EXPECT_NEAR(f.quantile(h, 0.5), f.mean[at(h)], 1e-9 * f.mean[at(h)]);
  }
  auto model = make_forecaster("naive", {.auto_lambda = true});
  model->fit({kAirline, 12});
  EXPECT_LT(model->lambda(), 0.5);
  EXPECT_NEAR(model->residuals()[1], 6, 1e-9);
  EXPECT_THROW(forecast_of("naive", {1, 0, 2}, 1, 1, {.lambda = 0}), DataError);
}

TEST(Forecaster, LikelihoodWithLogarithmRefersToTheOriginalValues) {
  std::vector<double> logs;
  double sum = 0;
  for (const double x : kAirline) {
    logs.push_back(std::log(x));
    sum += logs.back();
  }
  for (const char* name : {"ets:A,A,A", "theta", "mean"}) {
    auto transformed = make_forecaster(name, {.lambda = 0}), of_logs = make_forecaster(name);
    transformed->fit({kAirline, 12});
    of_logs->fit({logs, 12});
    EXPECT_NEAR(transformed->log_likelihood(), of_logs->log_likelihood() - sum, 1e-3) << name;
  }
}

TEST(Forecaster, UnknownNamesAndMissingFitsRaiseErrors) {
  EXPECT_THROW(make_forecaster("prophet"), UsageError);
  EXPECT_THROW(make_forecaster("ets", {.paths = 1}), UsageError);
  EXPECT_THROW(make_forecaster("naive")->forecast(1), UsageError);
  EXPECT_THROW(forecast_of("naive", {1, 2}, 1, 0), UsageError);
  EXPECT_THROW(forecast_of("naive", {1, 2}, 0, 1), UsageError);
  EXPECT_THROW(forecast_of("naive", {1, 2}, 1, 1).quantile(0, 1), UsageError);
}

TEST(Forecaster, ResidualsAreOneStepErrors) {
  auto model = make_forecaster("naive");
  model->fit({{1, 4, 2}, 1});
  EXPECT_TRUE(std::isnan(model->residuals()[0]));
  EXPECT_EQ(model->residuals()[1], 3);
  EXPECT_EQ(model->residuals()[2], -2);
  for (const char* name : {"ets", "theta", "arima", "ar"}) {
    auto fitted = make_forecaster(name);
    fitted->fit({kAirline, 12});
    double squares = 0, count = 0;
    for (const double e : fitted->residuals())
      if (!std::isnan(e)) squares += e * e, ++count;
    EXPECT_GT(count, 80);
    EXPECT_LT(std::sqrt(squares / count), 15) << name;
  }
}

TEST(Forecaster, IterativeFitsReadTheLastValues) {
  std::vector<double> y = simulated_series(2300, 5);
  for (std::size_t t = 0; t < 299; ++t) y[t] *= 1 + 0.3 * static_cast<double>(t % 2);
  y[300] = kMissing;
  for (const char* name : {"ets:A,N,N", "arima"}) {
    const std::vector<double> last(y.end() - 2000, y.end());
    auto whole = make_forecaster(name), part = make_forecaster(name);
    whole->fit({y, 1}), part->fit({last, 1});
    EXPECT_EQ(whole->forecast(5).mean, part->forecast(5).mean) << name;
    EXPECT_EQ(whole->residuals().size(), y.size());
    EXPECT_TRUE(std::isnan(whole->residuals()[299])) << name;
    EXPECT_EQ(whole->residuals()[1500], part->residuals()[1200]) << name;
  }
  EXPECT_EQ(most_fitted_values(24), 2000);
  EXPECT_EQ(most_fitted_values(365), 3650);
}

}  // namespace
}  // namespace unfold::forecasting
