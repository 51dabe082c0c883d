#include "model/forecast/ets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

TEST(Ets, LikelihoodAtFixedParametersAgreesWithStatsmodels) {
  const std::vector<double> seasons{-20, -10, 10, 5, 0, 20, 30, 30, 10, -15, -35, -25};
  const std::vector<double> factors{0.9, 0.92, 1.04, 1.02, 0.98, 1.1, 1.2, 1.2, 1.05, 0.9, 0.8, 0.89};
  const auto log_likelihood = [](const char* form, EtsParameters p, const std::vector<double>& y) {
    std::ranges::reverse(p.seasons);  // statsmodels lists the initial seasons from the newest to the oldest
    return run_ets(parse_ets_form(form), p, y).log_likelihood;
  };
  EXPECT_NEAR(log_likelihood("A,Ad,N", {0.3, 0.1, 0, 0.9, 1100, 5, {}}, kNile), -393.910593831, 1e-6);
  EXPECT_NEAR(log_likelihood("M,A,N", {0.3, 0.1, 0, 1, 1100, 5, {}}, kNile), -400.436985032, 1e-6);
  EXPECT_NEAR(log_likelihood("A,A,A", {0.4, 0.05, 0.2, 1, 120, 2, seasons}, kAirline), -424.577590916, 1e-6);
  // By the published equations: statsmodels updates a multiplicative season with the new level, a different model.
  EXPECT_NEAR(log_likelihood("M,Ad,M", {0.4, 0.05, 0.2, 0.95, 120, 2, factors}, kAirline), -415.508735095, 1e-6);
  EXPECT_NEAR(log_likelihood("A,N,M", {0.4, 0, 0.2, 1, 120, 0, factors}, kAirline), -402.505168748, 1e-6);
}

struct EtsReference {
  const char* series;
  const char* form;
  double log_likelihood;  ///< maximized by statsmodels
  double forecast[4];
};

TEST(Ets, MaximumIsAtLeastThatOfStatsmodels) {
  const EtsReference references[] = {
      {"airline", "A,N,A", -359.9718, {308.098, 305.926, 332.753, 324.839}},
      {"airline", "A,A,A", -358.1023, {319.237, 311.532, 350.284, 346.994}},
      {"airline", "M,N,M", -328.5834, {308.141, 308.858, 353.105, 337.929}},
      {"airline", "M,A,M", -319.5530, {311.235, 313.496, 359.601, 346.132}},
      {"airline", "M,Ad,M", -321.9198, {311.108, 313.544, 359.734, 346.208}},
      {"airline", "M,A,A", -347.7891, {318.343, 310.705, 349.710, 346.991}},
      {"nile", "A,N,N", -389.0619, {834.152, 834.152, 834.152, 834.152}},
      {"nile", "M,N,N", -390.2040, {833.245, 833.245, 833.245, 833.245}},
      {"nile", "A,A,N", -388.3223, {794.454, 789.659, 784.864, 780.068}},
      {"nile", "A,Ad,N", -386.4845, {799.565, 796.304, 793.109, 789.977}},
      {"nile", "M,A,N", -386.7682, {770.411, 764.301, 758.191, 752.081}},
  };
  int compared = 0;
  for (const EtsReference& r : references) {
    const bool airline = std::string(r.series) == "airline";
    auto model = make_forecaster(std::string("ets:") + r.form);
    model->fit({airline ? kAirline : kNile, airline ? 12 : 1});
    EXPECT_GT(model->log_likelihood(), r.log_likelihood - 1e-2) << r.series << " " << r.form;
    if (std::fabs(model->log_likelihood() - r.log_likelihood) > 1e-3) continue;  // a higher maximum
    const Forecast f = model->forecast(4);
    for (Index h = 0; h < 4; ++h) EXPECT_NEAR(f.mean[at(h)], r.forecast[h], 0.05) << r.series << " " << r.form;
    ++compared;
  }
  EXPECT_GE(compared, 6);  // the forecasts of forms with the same maximum were compared
}

TEST(Ets, SelectionMinimizesAicc) {
  auto selected = make_forecaster("ets");
  selected->fit({kAirline, 12});
  EXPECT_EQ(selected->name(), "ets:M,A,M");
  for (const char* form : {"A,N,N", "M,N,A", "M,N,M", "A,A,A", "M,Ad,M", "A,Ad,A"}) {
    auto model = make_forecaster(std::string("ets:") + form);
    model->fit({kAirline, 12});
    EXPECT_LE(selected->aicc(), model->aicc()) << form;
  }
  // k of ETS(M,A,M): alpha, beta, gamma, l, b, 11 seasons, sigma
  EXPECT_EQ(selected->parameters(), 17);
  EXPECT_DOUBLE_EQ(selected->aicc(), -2 * selected->log_likelihood() + 2 * 17 + 2.0 * 17 * 18 / (96 - 17 - 1));
}

TEST(Ets, MultiplicativeFormsNeedPositiveData) {
  const std::vector<double> y = affine(kAirline, 1, -200);
  auto model = make_forecaster("ets");
  model->fit({y, 12});
  EXPECT_TRUE(model->name().starts_with("ets:A,")) << model->name();
  EXPECT_FALSE(model->name().ends_with(",M")) << model->name();
}

TEST(Ets, AnalyticDeviationsAgreeWithSimulation) {
  // The deviation of ETS(A,A,A) by the state equations, with unit errors at each of the future steps.
  auto model = make_forecaster("ets:A,Ad,A");
  const std::vector<double> y = simulated_series(80, 3);
  model->fit({y, 4});
  const Forecast f = model->forecast(9);
  const EtsForm form = parse_ets_form("A,Ad,A");
  // c_j follows from two passes that differ by an error of 1 at one step.
  Sample sample{.values = y, .filled = y, .period = 4, .positive = true, .observed = 80};
  const double scale = 64;
  for (double& x : sample.values) x /= scale;
  sample.filled = sample.values;
  const EtsParameters p = run_ets(form, fit_ets(form, sample), sample.values).end;
  const auto response = [&](double first) {
    std::vector<double> future(9, kMissing);
    EtsPass pass = run_ets(form, p, future);
    future[0] = pass.fitted[0] + first;
    return run_ets(form, p, future).fitted;
  };
  const std::vector<double> with = response(1), without = response(0);
  double variance = 1;
  for (std::size_t h = 0; h < 9; ++h) {
    EXPECT_NEAR(f.deviation[h] / f.deviation[0], std::sqrt(variance), 1e-9);
    if (h + 1 < 9) variance += (with[h + 1] - without[h + 1]) * (with[h + 1] - without[h + 1]);
  }
}

TEST(Ets, MissingValuesHaveNoError) {
  std::vector<double> y = kNile;
  y[20] = y[21] = kMissing;
  const EtsPass pass = run_ets(EtsForm{}, {.alpha = 0.3, .level = 1100}, y);
  EXPECT_EQ(pass.fitted[20], pass.fitted[21]);
  EXPECT_EQ(pass.fitted[22], pass.fitted[21]);
}

TEST(Ets, UnknownFormRaisesAnError) {
  EXPECT_THROW(parse_ets_form("A,M,N"), UsageError);
  EXPECT_THROW(make_forecaster("ets:"), UsageError);
}

}  // namespace
}  // namespace unfold::forecasting
