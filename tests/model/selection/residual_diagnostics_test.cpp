#include "model/selection/residual_diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/selection/automatic.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

using Values = std::vector<double>;

/// Values without a pattern over 60 steps.
Values scattered() {
  Values x;
  for (Index i = 0; i < 60; ++i)
    x.push_back(static_cast<double>(i * 37 % 101) / 8 - 6 + 0.25 * static_cast<double>(i * i % 7));
  return x;
}

Values normal_values(Index count, std::uint64_t seed) {
  Random random(seed, "residuals");
  Values x;
  for (Index i = 0; i < count; ++i) x.push_back(random.normal());
  return x;
}

ResidualDiagnostics diagnose(const Values& residuals) { return diagnose_residuals(residuals, 1, {}, 1); }

// The values are those of statsmodels 0.15 (acorr_ljungbox, jarque_bera) and SciPy 1.17 (spearmanr, ttest_1samp).
TEST(ResidualDiagnostics, StatisticsAreThoseOfStatsmodelsAndScipy) {
  const ResidualDiagnostics d = diagnose_residuals(scattered(), 1, Values{0.3, 0.5, 0.1, 0.6, 0.4}, 0.5);
  EXPECT_EQ(d.count, 60);
  EXPECT_EQ(d.lags, 10);
  EXPECT_NEAR(d.correlation.statistic, 76.9873112, 1e-6);
  EXPECT_NEAR(d.correlation.p, 1.95002909e-12, 1e-19);
  EXPECT_NEAR(d.normality.statistic, 3.311776756670432, 1e-12);
  EXPECT_NEAR(d.normality.p, 0.19092236904727938, 1e-12);
  EXPECT_NEAR(d.skewness, 0.0008228559903956737, 1e-12);
  EXPECT_NEAR(d.excess_kurtosis + 3, 1.8490404028375935, 1e-12);
  EXPECT_NEAR(d.spread.statistic, -0.043448654270817615, 1e-12);
  EXPECT_NEAR(d.spread.p, 0.7416811851498524, 1e-12);
  EXPECT_NEAR(d.spread_ratio, 0.9203703703703704, 1e-12);
  EXPECT_NEAR(d.bias_test.statistic, 4.4174102722651325, 1e-12);
  EXPECT_NEAR(d.bias_test.p, 0.011534048799787354, 1e-12);
  const ResidualDiagnostics seasonal = diagnose_residuals(scattered(), 12, {}, 1);
  EXPECT_EQ(seasonal.lags, 12);  // a fifth of the values
  EXPECT_NEAR(seasonal.correlation.statistic, 123.022152, 1e-5);
}

TEST(ResidualDiagnostics, IndependentNormalResidualsAreRarelyNoted) {
  Index noted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) noted += !diagnose(normal_values(120, seed)).notes().empty();
  EXPECT_LE(noted, 6);
}

TEST(ResidualDiagnostics, EachProblemIsNoted) {
  Values correlated = normal_values(200, 1), growing = normal_values(200, 2), heavy = normal_values(200, 3);
  for (std::size_t t = 1; t < correlated.size(); ++t) correlated[t] += 0.6 * correlated[t - 1];
  for (std::size_t t = 0; t < growing.size(); ++t) growing[t] *= 1 + static_cast<double>(t) / 50;
  for (double& x : heavy) x = x * x * x;
  EXPECT_TRUE(diagnose(correlated).is_correlated());
  EXPECT_EQ(diagnose(correlated).largest_lag, 1);
  EXPECT_FALSE(diagnose(correlated).has_uneven_spread());
  EXPECT_TRUE(diagnose(growing).has_uneven_spread());
  EXPECT_GT(diagnose(growing).spread_ratio, 2);
  EXPECT_TRUE(diagnose(heavy).has_heavy_tails());
  const ResidualDiagnostics biased = diagnose_residuals({}, 1, Values{0.3, 0.5, 0.1, 0.6, 0.4}, 0.5);
  EXPECT_TRUE(biased.is_biased());
  ASSERT_EQ(biased.notes().size(), 1u);
  EXPECT_NE(biased.notes()[0].find("too low (p = 0.012): the mean of the errors is 76 %"), std::string::npos)
      << biased.notes()[0];
}

TEST(ResidualDiagnostics, ScalesAndMissingValuesAreHandled) {
  Values scaled = scattered(), gaps = scattered();
  for (double& x : scaled) x *= 0x1p300;
  EXPECT_EQ(diagnose(scaled).normality.statistic, diagnose(scattered()).normality.statistic);
  gaps.insert(gaps.begin(), 7, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(diagnose(gaps).correlation.statistic, diagnose(scattered()).correlation.statistic);
  EXPECT_TRUE(diagnose(Values(100, 0.0)).notes().empty());
  EXPECT_TRUE(std::isnan(diagnose(Values{1, 2, 3}).correlation.p));
  EXPECT_TRUE(diagnose({}).notes().empty());
}

TEST(ResidualDiagnostics, ForecastsReportThem) {
  Team team(1);
  Values y{100};
  const Values steps = normal_values(160, 4);
  for (std::size_t t = 1; t < steps.size(); ++t) y.push_back(y.back() + steps[t] + 0.9 * steps[t - 1]);
  const UnivariateSeries series{y, 1};
  AutomaticOptions options{.horizon = 4, .members = {"naive"}};
  const ResidualDiagnostics naive = forecast_automatically({&series, 1}, options, team)[0].diagnostics;
  EXPECT_EQ(naive.count, 159);
  EXPECT_TRUE(naive.is_correlated());
  EXPECT_EQ(naive.largest_lag, 1);
  EXPECT_TRUE(std::isfinite(naive.bias));
  options.members = {"arima"};
  EXPECT_FALSE(forecast_automatically({&series, 1}, options, team)[0].diagnostics.is_correlated());
}

}  // namespace
}  // namespace unfold::forecasting
