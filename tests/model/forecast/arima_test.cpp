#include "model/forecast/arima.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/forecast/arma.h"
#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

std::vector<double> differences(const std::vector<double>& y, Index d, Index seasonal_d, Index m) {
  std::vector<double> w = y;
  for (Index k = 0; k < seasonal_d; ++k) w = difference(w, m);
  for (Index k = 0; k < d; ++k) w = difference(w);
  return w;
}

struct ArimaReference {
  const char* series;
  ArimaOrder order;
  ArimaCoefficients coefficients;
  double at_coefficients, maximum;  ///< log likelihoods of statsmodels
};

const ArimaReference kReferences[] = {
    {"nile", {.p = 1}, {.ar = {0.5}}, -459.61543108, -399.8578},
    {"nile", {.p = 1, .q = 1, .constant = true}, {.ar = {0.8}, .ma = {-0.4}, .mean = 900}, -389.02646207, -388.4260},
    {"nile", {.p = 2, .d = 1, .q = 1}, {.ar = {0.3, -0.1}, .ma = {-0.8}}, -383.24225671, -382.1276},
    {"nile", {.d = 1, .q = 1}, {.ma = {-0.7}}, -383.39508391, -383.3898},
    {"airline",
     {.d = 1, .q = 1, .seasonal_d = 1, .seasonal_q = 1},
     {.ma = {-0.3}, .seasonal_ma = {-0.2}},
     -305.53610254,
     -305.3144},
    {"airline",
     {.p = 2, .q = 1, .seasonal_p = 1, .seasonal_d = 1},
     {.ar = {0.5, 0.2}, .ma = {0.1}, .seasonal_ar = {-0.3}},
     -340.14174910,
     -308.8939},
    {"airline",
     {.p = 1, .seasonal_d = 1, .seasonal_q = 1, .constant = true},
     {.ar = {0.7}, .seasonal_ma = {-0.2}, .mean = 25},
     -309.16980810,
     -307.1430},
};

TEST(Arima, LikelihoodAtFixedCoefficientsAgreesWithStatsmodels) {
  for (const ArimaReference& r : kReferences) {
    const bool airline = std::string(r.series) == "airline";
    const Index m = airline ? 12 : 1;
    const std::vector<double> w = differences(airline ? kAirline : kNile, r.order.d, r.order.seasonal_d, m);
    EXPECT_NEAR(evaluate_arima(r.order, r.coefficients, m, w).log_likelihood, r.at_coefficients, 1e-6)
        << r.order.name(m);
  }
}

TEST(Arima, MaximumIsAtLeastThatOfStatsmodels) {
  for (const ArimaReference& r : kReferences) {
    const bool airline = std::string(r.series) == "airline";
    auto model = make_arima(r.order, {});
    model->fit({airline ? kAirline : kNile, airline ? 12 : 1});
    EXPECT_GT(model->log_likelihood(), r.maximum - 1e-2) << model->name();
  }
}

TEST(Arima, LikelihoodWithMissingValuesAgreesWithStatsmodels) {
  std::vector<double> w = affine(kNile, 1, -900);
  for (const std::size_t t : {10, 11, 30, 59}) w[t] = kMissing;
  const ArimaFit fit = evaluate_arima({.p = 2, .q = 1}, {.ar = {0.5, 0.2}, .ma = {-0.3}}, 1, w);
  EXPECT_NEAR(fit.log_likelihood, -365.50790213, 1e-6);
  EXPECT_EQ(fit.observed, 56);
}

TEST(Arima, FastRecursionsAreTheFullKalmanFilter) {
  const std::vector<double> w = differences(kAirline, 1, 1, 12);
  std::vector<double> with_missing_end = w;
  with_missing_end.push_back(kMissing);  // chooses the full filter
  const ArimaCoefficients processes[] = {
      {.ar = {0.5, -0.3}, .ma = {0.4}},
      {.ar = {0.9}, .ma = {-0.3, 0.5}, .seasonal_ar = {0.4}, .seasonal_ma = {-0.8}},
      {.seasonal_ar = {0.3, 0.2}},
      {.ma = {0.99}, .seasonal_ma = {-0.95}},
      {},
  };
  for (const ArimaCoefficients& c : processes) {
    const ArmaFilter fast = arma_filter(w, expand_ar(c, 12), expand_ma(c, 12));
    const ArmaFilter full = arma_filter(with_missing_end, expand_ar(c, 12), expand_ma(c, 12));
    EXPECT_NEAR(fast.squares, full.squares, 1e-9 * full.squares);
    EXPECT_NEAR(fast.log_sum, full.log_sum, 1e-9 * (1 + full.log_sum));
    for (std::size_t t = 0; t < w.size(); ++t) EXPECT_NEAR(fast.predicted[t], full.predicted[t], 1e-7);
    EXPECT_NEAR(fast.state[0], full.predicted.back(), 1e-7);
  }
}

TEST(Arima, AutocovariancesSolveTheYuleWalkerEquations) {
  const std::vector<double> g = arma_autocovariances(std::vector<double>{0.5, 0.3}, {}, 4);
  EXPECT_NEAR(g[0], 0.5 * g[1] + 0.3 * g[2] + 1, 1e-12);
  for (std::size_t k = 1; k <= 4; ++k) EXPECT_NEAR(g[k], 0.5 * g[k - 1] + 0.3 * g[k > 2 ? k - 2 : 2 - k], 1e-12) << k;
  const std::vector<double> moving = arma_autocovariances({}, std::vector<double>{0.4}, 2);
  EXPECT_DOUBLE_EQ(moving[0], 1.16);
  EXPECT_DOUBLE_EQ(moving[1], 0.4);
  EXPECT_DOUBLE_EQ(moving[2], 0);
  EXPECT_TRUE(arma_autocovariances(std::vector<double>{1.1}, {}, 2).empty());
}

TEST(Arima, StationarityFollowsFromTheRoots) {
  EXPECT_TRUE(is_stationary(std::vector<double>{0.99}));
  EXPECT_FALSE(is_stationary(std::vector<double>{0.995}, 1.01));
  EXPECT_FALSE(is_stationary(std::vector<double>{0.5, 0.5}));
  EXPECT_TRUE(is_stationary(std::vector<double>{}));
}

TEST(Arima, SelectsDifferencesAndRecoversTheProcess) {
  auto model = make_forecaster("arima");
  model->fit({kAirline, 12});
  EXPECT_NE(model->name().find("[12]"), std::string::npos) << model->name();
  Random random(5, "arima test");
  std::vector<double> y{0};
  for (int t = 1; t < 300; ++t) y.push_back(0.7 * y.back() + random.normal());
  model->fit({y});
  EXPECT_EQ(model->name().substr(8, 3), ",0,") << model->name();  // no difference
  auto true_order = make_arima(ArimaOrder{.p = 1}, {});
  true_order->fit({y});
  EXPECT_LE(model->aicc(), true_order->aicc() + 1e-6);
  EXPECT_NEAR(model->forecast(1).mean[0], true_order->forecast(1).mean[0], 0.3);
}

TEST(Arima, ExactAndConditionalSearchesFindSimilarModels) {
  const std::vector<double> y = simulated_series(100, 2);
  auto exact = make_arima({.likelihood = ArimaSearchOptions::Likelihood::exact});
  auto conditional = make_arima({.likelihood = ArimaSearchOptions::Likelihood::conditional});
  exact->fit({y, 4});
  conditional->fit({y, 4});
  EXPECT_NEAR(exact->aicc(), conditional->aicc(), 6);
}

TEST(Arima, DeviationsOfARandomWalkGrowWithTheRoot) {
  auto model = make_arima(ArimaOrder{.d = 1}, {});
  model->fit({kNile});
  const Forecast f = model->forecast(9);
  for (std::size_t h = 0; h < 9; ++h) {
    EXPECT_EQ(f.mean[h], kNile.back());
    EXPECT_NEAR(f.deviation[h], f.deviation[0] * std::sqrt(static_cast<double>(h + 1)), 1e-9);
  }
}

TEST(Arima, AutoregressionHasTheExactLikelihood) {
  auto model = make_forecaster("ar");
  Random random(6, "ar test");
  std::vector<double> y{0, 0};
  for (int t = 2; t < 200; ++t) {
    const double next = 1.2 * y[y.size() - 1] - 0.5 * y[y.size() - 2] + random.normal();
    y.push_back(next);
  }
  model->fit({y});
  const Index order = std::stoi(model->name().substr(3));
  EXPECT_GE(order, 2);
  auto best = make_arima(ArimaOrder{.p = order, .constant = true}, {});
  best->fit({y});
  EXPECT_LE(model->log_likelihood(), best->log_likelihood() + 1e-6);
  EXPECT_GT(model->log_likelihood(), best->log_likelihood() - 1.5);
}

TEST(Arima, OrdersThatTheSeriesCannotSupportRaiseAnError) {
  auto model = make_arima(ArimaOrder{.p = 2, .seasonal_d = 1}, {});
  EXPECT_THROW(model->fit({{1, 2, 3, 4, 6}, 12}), DataError);
  EXPECT_THROW(make_arima(ArimaOrder{.p = 16}, {}), UsageError);
}

}  // namespace
}  // namespace unfold::forecasting
