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

TEST(ForecastMeasures, DifferentLengthsRaiseAnError) { EXPECT_THROW(mase(Values{1, 2}, Values{1}, 1), UsageError); }

}  // namespace
}  // namespace unfold::forecasting
