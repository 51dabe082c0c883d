#include "model/forecast/box_cox.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/forecast/reference_series.h"

namespace unfold::forecasting {
namespace {

TEST(BoxCox, InverseReturnsTheValue) {
  for (const double lambda : {0.0, 0.1, 0.5, 0.9, 1.0})
    for (const double y : {1e-9, 0.3, 1.0, 17.0, 1e12}) {
      const BoxCox transform{lambda};
      // Near zero the transformed value is -1 / lambda, so that small values lose digits.
      const double digits =
          lambda == 0 || lambda == 1 ? 1e-13 * y : 1e-13 * y + 1e-15 * std::pow(y, 1 - lambda) / lambda;
      EXPECT_NEAR(transform.inverse(transform(y)), y, digits) << lambda << " " << y;
    }
}

TEST(BoxCox, TransformsToKnownValues) {
  EXPECT_EQ(BoxCox{1}(3.5), 3.5);
  EXPECT_NEAR(BoxCox{0}(3.5), std::log(3.5), 1e-15);
  EXPECT_NEAR(BoxCox{0.5}(4), 2, 1e-15);
  EXPECT_EQ(BoxCox{0.5}.inverse(-3), 0);
  EXPECT_TRUE(std::isnan(BoxCox{0.5}(kMissing)));
}

TEST(BoxCox, RuleChoosesTheLogarithmForProportionalVariation) {
  EXPECT_LE(box_cox_lambda(kAirline, 12), 0.3);
  std::vector<double> growth;
  for (std::size_t t = 0; t < 60; ++t) growth.push_back(std::exp(0.05 * static_cast<double>(t)) * (t % 4 == 0 ? 2 : 1));
  EXPECT_EQ(box_cox_lambda(growth, 4), 0);
}

TEST(BoxCox, RuleKeepsOtherSeries) {
  EXPECT_EQ(box_cox_lambda(std::vector<double>{1, 2, 0, 4, 5, 6, 7, 8, 9, 10}, 1), 1);
  EXPECT_EQ(box_cox_lambda(std::vector<double>{1, 2, 3}, 1), 1);
  EXPECT_EQ(box_cox_lambda(std::vector<double>(30, 2.0), 1), 1);
}

}  // namespace
}  // namespace unfold::forecasting
