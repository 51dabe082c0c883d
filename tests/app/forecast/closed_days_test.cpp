#include "app/forecast/closed_days.h"
#include "app/forecast/forecast_table.h"
#include "app/forecast/series_table.h"
#include "data/cells/civil_date.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/app/forecast/forecast_of_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::forecast_of;
using testing_support::ScratchFolder;
using testing_support::shop_table;
using testing_support::table_of;
using testing_support::tsv;
using Values = std::vector<double>;
using forecasting::format_moment;

TEST(ForecastTable, ClosedWeekdaysAreNotForecast) {
  const TableForecast sundays = forecast_of(shop_table(0b0111111, 89), 3, {"seasonal-naive"});  // ends on a Friday
  const std::string text = tsv(sundays);
  EXPECT_NE(text.find("\n2024-03-30\t"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n2024-03-31\t"), std::string::npos) << text;
  EXPECT_NE(text.find("\n2024-04-01\t"), std::string::npos) << text;
  EXPECT_EQ(sundays.periods.front(), 6);
  EXPECT_TRUE(std::ranges::any_of(sundays.table.notes, [](const std::string& note) {
    return note.find("every day except Sunday") != std::string::npos;
  }));

  const TableForecast mondays = forecast_of(shop_table(0b0111110, 89), 3, {"seasonal-naive"});
  EXPECT_NE(tsv(mondays).find("\n2024-04-02\t"), std::string::npos) << tsv(mondays);
  EXPECT_EQ(mondays.periods.front(), 5);
}

TEST(ForecastTable, HolidaysOfAShopAreMissingValues) {
  const SeriesTable table = table_of(shop_table(0b0111111, 89, {31, 60}));
  EXPECT_EQ(table.series.front().values.size(), 77U);
  EXPECT_EQ(std::ranges::count_if(table.series.front().values, [](double x) { return std::isnan(x); }), 2);
  EXPECT_TRUE(std::isnan(table.series.front().values[27]));  // 31 days without four Sundays
}

TEST(ForecastTable, FutureCovariatesMatchOpenDays) {
  const ScratchFolder folder;
  Reporter reporter;
  const TableForecast forecast =
      forecast_table({.data = folder.write("data.csv", shop_table(0b0111111, 89)),
                      .future = folder.write("future.csv", "day,promotion\n2024-04-02,0\n2024-04-01,1\n2024-03-30,0\n"),
                      .horizon = 3,
                      .members = {"mean+known"},
                      .threads = 1},
                     reporter);
  EXPECT_NEAR(forecast.forecasts[0].mean[1] - forecast.forecasts[0].mean[0], 40, 8);
}

TEST(ForecastTable, WeekdaysWithOneValueStayAtIt) {
  std::string text = "day,sales,promo\n", future = "day,promo\n";
  for (Index t = 0; t < 154; ++t) {
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    const Index promo = t % 5 == 0 && t % 7 != 6 ? 1 : 0;
    const std::string day = format_moment(moment, DateFormat::year_month_day);
    text += fmt::format("{},{},{}\n", day, t % 7 == 6 ? 0 : 100 + (t * 7) % 13 + 40 * promo, promo);
    moment.days += 154;
    if (t < 7) future += fmt::format("{},1\n", format_moment(moment, DateFormat::year_month_day));
  }
  const ScratchFolder folder;
  Reporter reporter;
  const TableForecast f = forecast_table({.data = folder.write("data.csv", text),
                                          .future = folder.write("future.csv", future),
                                          .horizon = 7,
                                          .coverage = {0.8, 0.99},
                                          .members = {"seasonal-naive", "mean+known"},
                                          .threads = 1},
                                         reporter);
  const forecasting::AutomaticForecast& sales = f.forecasts.at(0);
  EXPECT_EQ(sales.mean[6], 0);
  EXPECT_EQ(sales.upper[0][6], 0);
  EXPECT_GT(sales.upper[1][6], 0);  // 22 Sundays are not enough for 99 %
  EXPECT_GT(sales.mean[5], 50);
}

TEST(ClosedDays, RareValuesAndShortHistoriesAreNotClosed) {
  const auto note = [](Index days, const std::function<double(Index)>& value) {
    TableSeries series{.field = "sales"};
    std::vector<Moment> dates(at(days));
    for (Index t = 0; t < days; ++t) {
      dates[at(t)].days = days_from_civil(2024, 1, 1) + t;
      series.values.push_back(value(t));
    }
    series.index = *forecasting::TimeIndex::of_dates(dates, DateFormat::year_month_day);
    forecasting::AutomaticForecast f{.mean = Values(7, 5), .lower = {Values(7, 4)}, .upper = {Values(7, 6)}};
    return keep_closed_days(series, {0.8}, f);
  };
  const auto sundays = [](Index t) { return t % 7 == 6 ? 0.0 : 10.0 + static_cast<double>(t % 5); };
  EXPECT_NE(note(70, sundays).find("Sundays are equal to 0"), std::string::npos) << note(70, sundays);
  EXPECT_EQ(note(49, sundays), "");                                                       // seven Sundays
  EXPECT_EQ(note(70, [&](Index t) { return t == 20 ? 1.0 : sundays(t); }), "");           // one open Sunday
  EXPECT_EQ(note(70, [](Index t) { return t % 6 == 0 && t % 7 != 6 ? 4.0 : 0.0; }), "");  // rare demand
  EXPECT_EQ(note(70, [](Index) { return 3.0; }), "");                                     // a constant
}

TEST(ClosedDays, LongerStepsMeetTheWeekdaysByChance) {
  const auto forecast = [](Index days, bool months) {
    TableSeries series{.field = "sales"};
    std::vector<Moment> dates(120);
    for (std::size_t t = 0; t < 120; ++t) {
      const Index month = static_cast<Index>(t);
      dates[t].days = months ? days_from_civil(2014 + month / 12, month % 12 + 1, 1) : 19724 + days * month;
      series.values.push_back(weekday_of(dates[t].days) == 2 ? 0.0 : 10.0 + static_cast<double>(t % 5));
    }
    series.index = *forecasting::TimeIndex::of_dates(dates, DateFormat::year_month_day);
    forecasting::AutomaticForecast f{.mean = Values(60, 5), .lower = {Values(60, 4)}, .upper = {Values(60, 6)}};
    return std::pair(keep_closed_days(series, {0.8}, f), f.mean);
  };
  EXPECT_NE(forecast(1, false).first, "");
  EXPECT_EQ(forecast(2, false).first, "");
  EXPECT_EQ(forecast(30, true).first, "");
  EXPECT_EQ(forecast(30, true).second, Values(60, 5));
}

TEST(ClosedDays, LimitsAreNotNegativeWithoutNegativeValues) {
  for (const double other : {0.0, -1.0}) {
    TableSeries series{.field = "visitors"};
    std::vector<Moment> dates(84);
    for (Index t = 0; t < 84; ++t) {
      dates[at(t)].days = days_from_civil(2024, 1, 1) + t;
      series.values.push_back(t % 7 == 6 ? 0 : t % 5 == 0 ? other : 4);
    }
    series.index = *forecasting::TimeIndex::of_dates(dates, DateFormat::year_month_day);
    forecasting::AutomaticForecast f{.mean = Values(7, 3), .lower = {Values(7, 1)}, .upper = {Values(7, 9)}};
    EXPECT_NE(keep_closed_days(series, {0.99}, f), "");
    EXPECT_EQ(f.lower[0][6], other < 0 ? -2 : 0);
    EXPECT_EQ(f.upper[0][6], 9);
  }
}

}  // namespace
}  // namespace unfold
