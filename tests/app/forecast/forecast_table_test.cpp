#include "app/forecast/forecast_table.h"
#include "app/forecast/series_table.h"
#include "data/cells/civil_date.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/app/forecast/forecast_of_text.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::forecast_of;
using testing_support::groups_text;
using testing_support::ScratchFolder;
using testing_support::tsv;
using testing_support::two_shops;
using Values = std::vector<double>;

TEST(ForecastTable, WritesTimesAndQuantiles) {
  const std::string text = tsv(forecast_of(groups_text(), 2));
  EXPECT_EQ(text.substr(0, text.find('\n')), "group\ttime\tsales.mean\tsales.q2.5\tsales.q10\tsales.q90\tsales.q97.5");
  EXPECT_NE(text.find("\nnorth\t2024-05-21\t20.5\t"), std::string::npos) << text;
  EXPECT_NE(text.find("\nsouth\t2024-05-22\t120.5\t"), std::string::npos) << text;
}

TEST(ForecastTable, YearsAsNamesOfColumnsAreTimes) {
  const std::string text =
      tsv(forecast_of("country,2017,2018,2019,2020,2021\nde,1.5,2.5,3.5,4.5,5.5\nfr,2,3,4,5,6\n", 2));
  EXPECT_EQ(text.substr(0, 11), "group\ttime\t") << text;
  EXPECT_NE(text.find("\nde\t2022\t"), std::string::npos) << text;
}

/// Series that are too short or too noisy for a free search have the season of the others.
TEST(ForecastTable, SeriesWithoutTimesShareTheirSeason) {
  std::string text = "\"V1\"";
  for (int t = 0; t < 60; ++t) text += fmt::format(",\"V{}\"", t + 2);
  Random random(4, "common season");
  for (int k = 0; k < 10; ++k) {
    const int n = k == 9 ? 20 : 60;  // the last one has fewer than three seasons
    text += fmt::format("\n\"Q{}\"", k + 1);
    for (int t = 0; t < 60; ++t)
      text +=
          t < n ? fmt::format(",{:.2f}", 50 + (t % 12 == 3 ? 20 : 0) + (k % 3 == 0 ? 9 : 1) * random.normal()) : ",";
  }
  const TableForecast forecast = forecast_of(text + "\n", 3);
  ASSERT_EQ(forecast.periods.size(), 10U);
  for (const Index period : forecast.periods) EXPECT_EQ(period, 12);
}

TEST(ForecastTable, OutliersAreNamed) {
  std::string text = "month,load\n";
  for (int t = 0; t < 40; ++t)
    text += std::to_string(2020 + t / 12) + "/" + (t % 12 < 9 ? "0" : "") + std::to_string(t % 12 + 1) + "," +
            (t == 38 ? "1e6" : std::to_string(100 + t * 7 % 5)) + "\n";
  const TableForecast forecast = forecast_of(text, 2, {"naive", "mean"});
  const nlohmann::ordered_json json = forecast_json(forecast);
  EXPECT_EQ(json["series"][0]["outliers"][0]["time"], "2023/03");
  EXPECT_EQ(json["series"][0]["outliers"][0]["value"], 1e6);
  EXPECT_LT(forecast.forecasts[0].upper[1][1], 200);
  EXPECT_NE(tsv(forecast).find("\n2023/05\t"), std::string::npos);
}

TEST(ForecastTable, OneValueHasNoInterval) {
  const TableForecast forecast = forecast_of("day,load\n2024-01-01,7\n", 2);
  EXPECT_NE(tsv(forecast).find("\t7\t\t\t\t\n"), std::string::npos) << tsv(forecast);
}

TEST(ForecastTable, ErrorsHaveReadableDigits) {
  std::string text = "load\n";
  for (int t = 0; t < 30; ++t) text += std::to_string(t % 2 == 0 ? 1e-3 * t : -1e5) + "\n";
  EXPECT_EQ(describe_members(forecast_of(text, 2, {"naive"})).find("00000"), std::string::npos);
}

TEST(ForecastTable, LongHorizonsEndOrAreRefused) {
  std::string text = "load\n";
  for (int t = 0; t < 40; ++t) text += std::to_string(10 + t % 7) + "\n";
  EXPECT_EQ(forecast_of(text, 100000, {"naive", "ets"}).forecasts[0].mean.size(), 100000U);
  EXPECT_THROW(forecast_of(text, 30'000'000), UsageError);
  // Dates after the year 9999 are not supported.
  std::string months = "month,load\n";
  for (int t = 0; t < 24; ++t) months += fmt::format("{}-{:02},{}\n", 2020 + t / 12, t % 12 + 1, 10 + t % 5);
  try {
    forecast_of(months, 100000);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("use at most --horizon 95736"), std::string::npos) << error.what();
  }
}

TEST(ForecastTable, CountsStepsWithoutTimes) {
  const std::string text = tsv(forecast_of("value\n3\n1\n4\n1\n5\n9\n2\n6\n", 2));
  EXPECT_EQ(text.substr(0, 11), "step\tvalue.");
  EXPECT_NE(text.find("\n1\t6\t"), std::string::npos) << text;
}

TEST(ForecastTable, ProblemsOfTheErrorsAreNoted) {
  // Values that alternate around a slowly growing line are correlated if only naive is used.
  std::string text = "value\n", panel = "shop,day,value\n";
  for (int t = 0; t < 80; ++t) {
    const double value = 100 + 0.1 * t + (t % 2 == 0 ? 5 : -5) + t * 37 % 11 * 0.1;
    text += fmt::format("{}\n", value);
    for (const char* shop : {"a", "b"}) panel += fmt::format("{},{},{}\n", shop, t + 1, value);
  }
  const TableForecast one = forecast_of(text, 4);
  const auto diagnostics = forecast_json(one)["series"][0]["diagnostics"];
  EXPECT_EQ(diagnostics["residuals"], 79);
  EXPECT_LT(diagnostics["ljung_box_p"].get<double>(), 1e-6);
  EXPECT_FALSE(diagnostics["notes"].empty());
  EXPECT_NE(describe_members(one).find("one-step errors are correlated (Ljung-Box p = "), std::string::npos);
  const TableForecast two = forecast_of(panel, 4);
  EXPECT_NE(describe_members(two).find("one-step errors of 2 series: correlated in 2\n"), std::string::npos)
      << describe_members(two);
  const TableForecast short_series = forecast_of("value\n1\n3\n2\n5\n4\n", 2);
  EXPECT_TRUE(forecast_json(short_series)["series"][0]["diagnostics"]["ljung_box"].is_null());
}

TEST(ForecastTable, JsonHasMembersAndSeries) {
  const nlohmann::ordered_json json = forecast_json(forecast_of(groups_text(), 3, {"naive", "drift"}));
  EXPECT_EQ(json["series"].size(), 2U);
  EXPECT_EQ(json["series"][0]["mean"].size(), 3U);
  EXPECT_EQ(json["series"][0]["time"][0], "2024-05-21");
  EXPECT_NEAR(json["series"][0]["mean"][2].get<double>(), 23.5, 1e-9);  // drift is exact
  EXPECT_EQ(json["members"][0]["name"], "drift");
}

TEST(ForecastTable, MissingSeriesHaveEmptyCellsAndAllMissingIsAnError) {
  std::string text = "shop,date,sales\n";
  for (const char* shop : {"north", "south"})
    for (int day = 1; day <= 9; ++day)
      text += std::string(shop) + ",2024-05-0" + std::to_string(day) + "," +
              (*shop == 's' ? "" : std::to_string(day * 1.5)) + "\n";
  const std::string rows = tsv(forecast_of(text, 1));
  EXPECT_NE(rows.find("\nsouth\t2024-05-10\t\t\t\t\t\n"), std::string::npos) << rows;
  EXPECT_THROW(forecast_of("value\nNA\nNA\n\n", 1), DataError);
}

TEST(ForecastTable, NetworkOfAllSeriesIsSavedAndUsedAgain) {
  std::string text = "shop,day,sales\n", other = text;
  for (const int shop : {1, 2, 3})
    for (int t = 0; t < 160; ++t) {
      const std::string row = std::to_string(shop * 50 + (t % 8) * (t % 8) + (t * 5) % 3) + "\n";
      text += "s" + std::to_string(shop) + "," + std::to_string(t) + "," + row;
      if (shop == 2) other += "s7," + std::to_string(t) + "," + row;
    }
  const ScratchFolder folder;
  Reporter reporter;
  ForecastTableRequest request{.data = folder.write("data.csv", text),
                               .schema = {.group = "shop", .order = "day"},
                               .horizon = 8,
                               .members = {"segments"},
                               .season = 8,
                               .threads = 1,
                               .save = folder.path("sales.safetensors")};
  const TableForecast trained = forecast_table(request, reporter);
  ASSERT_EQ(trained.forecasts.size(), 3U);
  EXPECT_LT(trained.forecasts[0].error, 2);
  ASSERT_TRUE(holds_series_network(request.save));
  EXPECT_FALSE(holds_series_network(request.data));

  ForecastTableRequest again = request;
  again.members.clear(), again.save.clear(), again.model = request.save;
  const TableForecast used = forecast_table(again, reporter);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(used.forecasts[i].mean, trained.forecasts[i].mean);
  again.data = folder.write("other.csv", other), again.horizon = 3;
  EXPECT_LT(forecast_table(again, reporter).forecasts[0].error, 2);
  again.horizon = 9;
  EXPECT_THROW(forecast_table(again, reporter), UsageError);

  request.members = {"naive"};
  EXPECT_THROW(forecast_table(request, reporter), UsageError) << "there is no network to save";
}

TEST(ForecastTable, PlotsHistoryAndForecast) {
  const std::string svg = plot_forecast(forecast_of(groups_text(), 3));
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_NE(svg.find("sales of south"), std::string::npos);
  EXPECT_NE(svg.find(">date<"), std::string::npos) << "the name of the time column";
  EXPECT_NE(svg.find(">2024-05-13<"), std::string::npos) << "a Monday";
}

TEST(ForecastTable, CoverageIsInPercent) {
  EXPECT_EQ(parse_coverage("95,80"), (std::vector<double>{0.8, 0.95}));
  EXPECT_THROW(parse_coverage("0"), UsageError);
  EXPECT_THROW(parse_coverage("80,x"), UsageError);
  EXPECT_EQ(parse_coverage("99.5"), std::vector<double>{0.995});
  EXPECT_THAT([] { parse_coverage("0.8"); }, testing::ThrowsMessage<UsageError>(testing::HasSubstr("--coverage 80")));
}

TEST(ForecastTable, TheBacktestOfALongHorizonNamesTheStepsThatWereCompared) {
  const std::string text = describe_members(forecast_of(two_shops(), 500, {"mean"}));
  EXPECT_NE(text.find("horizon 500, of which at most"), std::string::npos) << text;
  EXPECT_EQ(describe_members(forecast_of(two_shops(), 3, {"mean"})).find("of which"), std::string::npos);
}

TEST(ForecastTable, MembersWithoutAResultAreCounted) {
  const std::string text = describe_members(
      forecast_of("value\n3\n1\n4\n1\n5\n0\n2\n6\n5\n3\n", 2, {"naive", "ar+log", "naive+known", "mean+known"}));
  EXPECT_EQ(text.find("naive+known"), std::string::npos) << text;
  EXPECT_NE(text.find("3 more members have no result: there are no covariates that are known in advance (2), "),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace unfold
