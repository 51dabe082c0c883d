#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/forecast/forecaster.h"
#include "tests/model/forecast/reference_series.h"

namespace unfold::forecasting {
namespace {

Forecast forecast_of(const std::vector<double>& y, Index period, Index horizon, std::string* name = nullptr) {
  const auto model = make_forecaster("seasonal-ar");
  model->fit({y, period});
  if (name != nullptr) *name = model->name();
  return model->forecast(horizon);
}

TEST(SeasonalAutoregression, ContinuesASeasonInsideALongerOne) {
  // Hours of a day, different on two of seven days; a forecast from the previous season would repeat the wrong day.
  std::vector<double> y;
  for (int t = 0; t < 24 * 7 * 6; ++t) {
    const int day = t / 24 % 7;
    y.push_back(10 + 5 * std::sin(t % 24 / 24.0 * 6.283185307179586) * (day < 5 ? 1 : 0.2) + (day < 5 ? 0 : 3));
  }
  const std::vector<double> history(y.begin(), y.end() - 72);
  const Forecast f = forecast_of(history, 24, 72);
  double worst = 0;
  for (std::size_t h = 0; h < 72; ++h) worst = std::max(worst, std::fabs(f.mean[h] - y[history.size() + h]));
  EXPECT_LT(worst, 0.5);
}

TEST(SeasonalAutoregression, EstimatesAStationaryProcess) {
  // y_t = 0.8 y_{t-1} + e_t: the forecast returns to the mean by a factor of about 0.8 in each step.
  Random random(3, "seasonal ar test");
  std::vector<double> y{0};
  for (int t = 1; t < 4000; ++t) y.push_back(0.8 * y.back() + random.normal());
  y.push_back(10);
  const Forecast f = forecast_of(y, 1, 3);
  EXPECT_NEAR(f.mean[0], 8, 0.5);
  EXPECT_NEAR(f.mean[1], 6.4, 0.7);
  EXPECT_NEAR(f.deviation[0], 1, 0.06);
  EXPECT_NEAR(f.deviation[1], std::sqrt(1 + 0.64), 0.1);
}

TEST(SeasonalAutoregression, AnswersForShortSeries) {
  for (std::size_t n = 2; n < 30; ++n) {
    const Forecast f =
        forecast_of(std::vector<double>(kAirline.begin(), kAirline.begin() + static_cast<int>(n)), 12, 5);
    for (const double x : f.mean) EXPECT_TRUE(std::isfinite(x)) << n;
    for (const double x : f.deviation) EXPECT_TRUE(x >= 0 && std::isfinite(x)) << n;
  }
}

TEST(SeasonalAutoregression, FittedValuesAreOneStepForecasts) {
  const auto model = make_forecaster("seasonal-ar");
  model->fit({kAirline, 12});
  double squares = 0, count = 0;
  for (const double e : model->residuals())
    if (!std::isnan(e)) squares += e * e, ++count;
  EXPECT_GT(count, 40);
  EXPECT_NEAR(std::sqrt(squares / count), model->forecast(1).deviation[0], 0.5 * model->forecast(1).deviation[0]);
}

}  // namespace
}  // namespace unfold::forecasting
