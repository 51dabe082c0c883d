#include "model/forecast/measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

using Values = std::vector<double>;

TEST(ForecastMeasures, ScaleIsTheMeanAbsoluteSeasonalDifference) {
  EXPECT_DOUBLE_EQ(seasonal_scale(Values{1, 3, 2, 6}, 1), (2 + 1 + 4) / 3.0);
  EXPECT_DOUBLE_EQ(seasonal_scale(Values{1, 3, 2, 6}, 2), (1 + 3) / 2.0);
  EXPECT_DOUBLE_EQ(seasonal_scale(Values{1, kMissing, 2, 6}, 1), 4);
  EXPECT_TRUE(std::isnan(seasonal_scale(Values{1, 3}, 2)));
}

TEST(ForecastMeasures, MaseDividesTheMeanAbsoluteError) {
  EXPECT_DOUBLE_EQ(mase(Values{10, 12, 8}, Values{11, 10, 8}, 2), (1 + 2 + 0) / 3.0 / 2);
  EXPECT_DOUBLE_EQ(mase(Values{10, kMissing, 8}, Values{11, 10, 8}, 2), (1 + 0) / 2.0 / 2);
  EXPECT_TRUE(std::isnan(mase(Values{kMissing}, Values{1}, 2)));
}

TEST(ForecastMeasures, SmapeIsInPercentAndZeroForTwoZeros) {
  EXPECT_DOUBLE_EQ(smape(Values{10, 0}, Values{30, 0}), (200 * 20 / 40.0 + 0) / 2);
  EXPECT_DOUBLE_EQ(smape(Values{-10}, Values{10}), 200);
}

TEST(ForecastMeasures, OwaIsTheMeanOfTwoRatios) {
  EXPECT_DOUBLE_EQ(owa(9, 1.5, 18, 2), 0.5 * (0.5 + 0.75));
  EXPECT_DOUBLE_EQ(owa(18.383, 2.395, 18.383, 2.395), 1);
}

TEST(ForecastMeasures, MsisAddsPenaltiesOutsideTheInterval) {
  // widths 4, 4, 4; the second value is 1 below the interval, the third 2 above it.
  EXPECT_DOUBLE_EQ(msis(Values{5, 2, 9}, Values{3, 3, 3}, Values{7, 7, 7}, 0.05, 2), (4 + 44 + 84) / 3.0 / 2);
}

TEST(ForecastMeasures, PinballLossWeighsBothSides) {
  EXPECT_DOUBLE_EQ(pinball_loss(Values{10, 10}, Values{8, 13}, 0.9), (0.9 * 2 + 0.1 * 3) / 2);
  EXPECT_DOUBLE_EQ(pinball_loss(Values{10}, Values{8}, 0.5), 1);
}

TEST(ForecastMeasures, DifferentLengthsRaiseAnError) {
  EXPECT_THROW(mase(Values{1, 2}, Values{1}, 1), UsageError);
  EXPECT_THROW(msis(Values{1}, Values{1}, Values{1, 2}, 0.05, 1), UsageError);
}

}  // namespace
}  // namespace unfold::forecasting
