#include "model/forecast/minimize.h"

#include <gtest/gtest.h>

#include <cmath>

namespace unfold::forecasting {
namespace {

template <class Function>
BatchObjective batch(std::size_t n, Function f) {
  return [=](const double* points, double* values) {
    for (std::size_t k = 0; k < kLanes; ++k) values[k] = f(points + k * n);
  };
}

TEST(ForecastMinimize, FindsTheMinimumOfRosenbrock) {
  const auto rosenbrock = [](const double* x) {
    const double a = 1 - x[0], b = x[1] - x[0] * x[0];
    return a * a + 100 * b * b;
  };
  const Minimum m = minimize(batch(2, rosenbrock), {{-1.2, 1}}, {.iterations = 200, .tolerance = 1e-14});
  EXPECT_NEAR(m.x[0], 1, 1e-4);
  EXPECT_NEAR(m.x[1], 1, 1e-4);
}

TEST(ForecastMinimize, TakesTheBestStartAndAvoidsInfeasiblePoints) {
  const auto f = [](const double* x) { return x[0] < 0.5 ? std::nan("") : x[0] * x[0]; };
  const Minimum m = minimize(batch(1, f), {{-3}, {4}, {2}});
  EXPECT_NEAR(m.x[0], 0.5, 1e-3);
}

TEST(ForecastMinimize, ReportsInfeasibleStarts) {
  const Minimum m = minimize(batch(1, [](const double*) { return std::nan(""); }), {{1.0}});
  EXPECT_TRUE(std::isinf(m.value));
  EXPECT_EQ(m.x, std::vector<double>{1.0});
}

TEST(ForecastMinimize, HandlesNoParameters) {
  EXPECT_EQ(minimize(batch(0, [](const double*) { return 7.0; }), {{}}).value, 7);
}

}  // namespace
}  // namespace unfold::forecasting
