#include "app/forecast/forecast_table.h"
#include "app/forecast/closed_days.h"
#include "app/forecast/known_covariates.h"
#include "app/forecast/series_table.h"
#include "data/cells/civil_date.h"
#include "data/schema/inference/infer_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::ScratchFolder;

SeriesTable table_of(const std::string& text, const SchemaOptions& options = {}) {
  const ScratchFolder folder;
  return read_series_table(folder.write("data.csv", text), options);
}

std::string message_of_table(const std::string& text, const SchemaOptions& options = {}) {
  try {
    table_of(text, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TableForecast forecast_of(const std::string& text, Index horizon, const std::vector<std::string>& members = {"naive"}) {
  const ScratchFolder folder;
  Reporter reporter;
  return forecast_table({.data = folder.write("data.csv", text),
                         .horizon = horizon,
                         .coverage = {0.8, 0.95},
                         .members = members,
                         .threads = 1},
                        reporter);
}

std::string tsv(const TableForecast& forecast) {
  std::string text;
  write_forecast(forecast, TableFormat::tsv, [&](std::string_view part) { text += part; });
  return text;
}

using Values = std::vector<double>;
using forecasting::format_moment;

TEST(SeriesTable, OneColumnIsOneSeries) {
  const SeriesTable table = table_of("value\n3\n1\n4\n1\n5\n");
  ASSERT_EQ(table.series.size(), 1U);
  EXPECT_EQ(table.series[0].values, (Values{3, 1, 4, 1, 5}));
  EXPECT_EQ(table.series[0].field, "value");
  EXPECT_FALSE(table.series[0].index.has_times());
  EXPECT_EQ(table_of("1\n2\n3\n4\n5\n6\n").series[0].values, (Values{1, 2, 3, 4, 5, 6}));  // looks like a row number
  EXPECT_EQ(table_of("7\n7\n7\n7\n").series[0].values, (Values{7, 7, 7, 7}));
}

TEST(SeriesTable, EveryStatedColumnIsASeries) {
  const SeriesTable table = table_of(
      "date,a,b\n2024-01-01,1.5,10\n2024-01-02,2.5,\n2024-01-03,3.5,30\n2024-01-04,4.5,40\n2024-01-05,5.5,50\n",
      {.predict = {"a", "b"}});
  ASSERT_EQ(table.series.size(), 2U);
  EXPECT_EQ(table.series[0].values, (Values{1.5, 2.5, 3.5, 4.5, 5.5}));
  EXPECT_TRUE(std::isnan(table.series[1].values[1]));
  EXPECT_EQ(table.series[1].index.label(5), "2024-01-06");
}

std::vector<std::string> predicted_by_inspect(const std::string& text) {
  std::vector<std::string> names;
  for (const ColumnSchema& column : infer_table_schema("data.csv", text).columns)
    if (column.role == ColumnRole::predicted) names.push_back(column.name);
  return names;
}

TEST(SeriesTable, PredictedColumnsAreThoseOfTheSchema) {
  const std::string tables[] = {"date,price,promotion,sales",
                                "date,sales,price,promotion",
                                "date,value,price,b",
                                "date,a,b,c",
                                "a,b,c,d",
                                "t,a,load,c"};
  for (const std::string& header : tables) {
    std::string text = header + "\n";
    for (int day = 1; day <= 30; ++day) {
      if (header[0] == 'd') text += fmt::format("2024-05-{:02}", day);
      if (header[0] == 't') text += fmt::format("{}", day);
      if (header[0] == 'a') text += fmt::format("{:.1f}", day % 3 + 0.5);
      text += fmt::format(",{:.2f},{},{:.1f}\n", 2 + day % 4 * 0.25, day % 9 == 0 ? 1 : 0, 50 + day * 7 % 13 * 0.5);
    }
    const SeriesTable table = table_of(text);
    EXPECT_EQ(table.fields, predicted_by_inspect(text)) << header;
    ASSERT_FALSE(table.notes.empty()) << header;
    EXPECT_NE(table.notes.back().find("are inputs"), std::string::npos) << table.notes.back();
  }
}

TEST(SeriesTable, InputsAreNamedAndCanBeForecast) {
  std::string text = "date,price,promotion,sales\n";
  for (int day = 1; day <= 30; ++day)
    text += fmt::format("2024-05-{:02},{},{},{}\n", day, 2 + day % 4 * 0.25, day % 9 == 0 ? 1 : 0, 50 + day * 7 % 13);
  const SeriesTable table = table_of(text);
  EXPECT_EQ(table.fields, (std::vector<std::string>{"sales"}));
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_NE(table.notes[0].find("only \"sales\" is forecast; the other numeric columns (\"price\", \"promotion\")"),
            std::string::npos)
      << table.notes[0];
  const SeriesTable stated = table_of(text, {.predict = {"price", "sales"}});
  EXPECT_EQ(stated.fields, (std::vector<std::string>{"price", "sales"}));
  EXPECT_TRUE(stated.notes.empty());
  EXPECT_NE(message_of_table(text, {.predict = {"prize"}}).find("price"), std::string::npos);
}

TEST(SeriesTable, CovariatesAreReadButNotPredicted) {
  std::string text = "date,units,promotion\n";
  for (int day = 1; day <= 30; ++day) text += fmt::format("2024-05-{:02},{},{}\n", day, 50 + day * 7 % 13, day % 5);
  const ScratchFolder folder;
  const std::string path = folder.write("data.csv", text);
  const SeriesTable table = read_series_table(path, {}, {.covariates = {"promotion", "holiday"}});
  EXPECT_EQ(table.fields, (std::vector<std::string>{"units", "promotion"}));
  EXPECT_TRUE(table.notes.empty());
  EXPECT_EQ(read_series_table(path, {}, {.known = {{.column = "promotion"}}}).fields,
            (std::vector<std::string>{"promotion"}));
  // Without units, the schema would predict the last column.
  const SeriesTable last = read_series_table(path, {}, {.covariates = {"units"}});
  EXPECT_EQ(last.fields, (std::vector<std::string>{"units", "promotion"}));
}

TEST(SeriesTable, ConstantTextsAreNotValues) {
  const SeriesTable table = table_of("month,load,note\n2024-01,5.5,ok\n2024-02,6.5,ok\n2024-03,7,ok\n2024-04,8,ok\n");
  EXPECT_EQ(table.fields, (std::vector<std::string>{"load"}));
  EXPECT_EQ(table_of("month,count\n2024-01,1\n2024-02,2\n2024-03,3\n2024-04,4\n2024-05,5\n2024-06,6\n").fields,
            (std::vector<std::string>{"count"}));
}

TEST(SeriesTable, RowsAreSortedAndGapsAreMissing) {
  std::string text = "day,load\n";
  for (const int day : {12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16})
    text +=
        "2024-03-" + std::string(day < 10 ? "0" : "") + std::to_string(day) + "," + std::to_string(day * 1.5) + "\n";
  const SeriesTable table = table_of(text);
  ASSERT_EQ(table.series[0].values.size(), 16U);
  EXPECT_DOUBLE_EQ(table.series[0].values[0], 1.5);
  EXPECT_TRUE(std::isnan(table.series[0].values[12]));
  EXPECT_DOUBLE_EQ(table.series[0].values[15], 24);
}

std::string groups_text() {
  std::string text = "shop,date,sales\n";
  for (const char* shop : {"north", "south"})
    for (int day = 1; day <= 20; ++day)
      text += std::string(shop) + ",2024-05-" + (day < 10 ? "0" : "") + std::to_string(day) + "," +
              std::to_string(day + (*shop == 's' ? 100.5 : 0.5)) + "\n";
  return text;
}

TEST(SeriesTable, GroupsAreSeries) {
  const SeriesTable table = table_of(groups_text(), {.group = "shop"});
  ASSERT_EQ(table.series.size(), 2U);
  EXPECT_EQ(table.series[1].group, "south");
  EXPECT_DOUBLE_EQ(table.series[1].values[0], 101.5);
}

TEST(SeriesTable, EqualTimesRequireAGroup) {
  SchemaOptions options;
  options.order = "date";
  try {
    std::string text = "load,date,sales\n";
    for (int day = 1; day <= 20; ++day)
      for (const char* load : {"1.5", "2.5"})
        text += std::string(load) + ",2024-05-" + (day < 10 ? "0" : "") + std::to_string(day) + "," +
                std::to_string(day * 0.5) + "\n";
    table_of(text, options);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("--group"), std::string::npos);
  }
}

TEST(SeriesTable, SeveralColumnsTellSeriesApart) {
  std::string text = "store,item,date,sales\n";
  for (int t = 1; t <= 12; ++t)
    for (const char* store : {"1", "2"})
      for (const char* item : {"tea", "milk"})
        text += std::string(store) + "," + item + ",2024-" + (t < 10 ? "0" : "") + std::to_string(t) + "," +
                std::to_string(t * 10 + (*store == '2') + (*item == 'm' ? 5 : 0)) + "\n";
  const SeriesTable table = table_of(text, {.group = "store,item"});
  ASSERT_EQ(table.series.size(), 4U);
  EXPECT_EQ(table.fields, (std::vector<std::string>{"sales"}));
  EXPECT_EQ(table.series[1].group, "1,milk");
  EXPECT_EQ(table.series[1].values[2], 35);
  EXPECT_EQ(table.series[3].group, "2,milk");
  EXPECT_EQ(table.series[3].values[11], 126);
  EXPECT_EQ(table.series[3].index.label(12), "2025-01");
  EXPECT_NE(message_of_table(text, {.group = "store,itme"}).find("no column \"itme\""), std::string::npos);
  EXPECT_NE(message_of_table(text, {.group = "store"}).find("--group store,COLUMN"), std::string::npos)
      << message_of_table(text, {.group = "store"});
}

TEST(SeriesTable, TimesOfDifferentZonesContinueInTheLastOne) {
  const SeriesTable table = table_of(
      "time,load\n2024-03-30T23:00:00+01:00,1\n2024-03-31T00:00:00+01:00,2\n2024-03-31T01:00:00+01:00,3\n"
      "2024-03-31T03:00:00+02:00,4\n2024-03-31T04:00:00+02:00,5.5\n2024-03-31T05:00:00+02:00,6\n");
  EXPECT_EQ(table.series[0].values, (Values{1, 2, 3, 4, 5.5, 6}));
  EXPECT_EQ(table.series[0].index.label(6), "2024-03-31T06:00:00+02:00");
}

TEST(SeriesTable, ReadsOneSeriesPerRow) {
  std::string text = "id,V2,V3,V4,V5,V6,V7,V8,V9\nH1,1,2,3,4,5,6,7,8\nH2,10,20,30,40,50,,,\n";
  const SeriesTable table = table_of(text);
  ASSERT_EQ(table.series.size(), 2U);
  EXPECT_EQ(table.series[1].group, "H2");
  EXPECT_EQ(table.series[1].values, (Values{10, 20, 30, 40, 50}));
}

TEST(SeriesTable, ColumnsAfterTheDatesAreLeftOutWithANote) {
  const SeriesTable table =
      table_of("sku,kind,Jan-21,Feb-21,Mar-21,Apr-21,Total,Note\na,x,1,2,3,4,10,new\nb,y,5,6,7,8,26,\n");
  ASSERT_EQ(table.series.size(), 2U);
  EXPECT_EQ(table.series[1].group, "b");
  EXPECT_EQ(table.series[1].values, (Values{5, 6, 7, 8}));
  EXPECT_EQ(table.series[1].index.label(4), "May-21");
  ASSERT_EQ(table.notes.size(), 2U);
  EXPECT_THAT(table.notes[1], testing::HasSubstr(": the columns after the dates (\"Total\", \"Note\") are left out"));
  // Two years among other columns are two measurements.
  EXPECT_NE(table_of("id,2019,2020,target\na,1,2,3\nb,2,3,4\nc,3,4,5\nd,4,5,6\n").notes.size(), 2U);
}

TEST(SeriesTable, MonthsQuartersAndWeeksContinueInTheirStyle) {
  struct Case {
    std::vector<std::string> dates;
    const char* next;
  };
  for (const Case& one : std::vector<Case>{{{"09/2016", "10/2016", "11/2016", "12/2016"}, "01/2017"},
                                           {{"09.2016", "10.2016", "11.2016", "12.2016"}, "01.2017"},
                                           {{"1991 Sep", "1991 Oct", "1991 Nov", "1991 Dec"}, "1992 Jan"},
                                           {{"2015M09", "2015M10", "2015M11", "2015M12"}, "2016M01"},
                                           {{"Q1/15", "Q2/15", "Q3/15", "Q4/15"}, "Q1/16"},
                                           {{"Q1-2015", "Q2-2015", "Q3-2015", "Q4-2015"}, "Q1-2016"},
                                           {{"1Q15", "2Q15", "3Q15", "4Q15"}, "1Q16"},
                                           {{"FY2015 Q1", "FY2015 Q2", "FY2015 Q3", "FY2015 Q4"}, "FY2016 Q1"},
                                           {{"KW 50/2020", "KW 51/2020", "KW 52/2020", "KW 53/2020"}, "KW 01/2021"},
                                           {{"KW 50/20", "KW 51/20", "KW 52/20", "KW 53/20"}, "KW 01/21"},
                                           {{"2020-KW50", "2020-KW51", "2020-KW52", "2020-KW53"}, "2021-KW01"}}) {
    std::string text = "when,value\n";
    for (std::size_t i = 0; i < one.dates.size(); ++i) text += fmt::format("{},{}.5\n", one.dates[i], i * i);
    const SeriesTable table = table_of(text);
    ASSERT_EQ(table.series.size(), 1U) << text;
    EXPECT_EQ(table.series[0].index.label(4), one.next);
  }
}

TEST(SeriesTable, YearsWithFractionsAreTimes) {
  std::string text = "time,value\n", prices = "price,value\n";
  for (int t = 0; t < 30; ++t) {
    text += fmt::format("{:.3f},{}\n", 1949 + t / 12.0, 100 + t);
    prices += fmt::format("{:.3f},{}\n", 1949 + t / 12.0, 100 + t);
  }
  const SeriesTable table = table_of(text);
  EXPECT_EQ(table.time_column, "time");
  ASSERT_EQ(table.series.size(), 1U);
  EXPECT_EQ(table.series[0].index.label(31), "1951.583");
  EXPECT_EQ(table.series[0].index.calendar_periods(), std::vector<Index>{12});
  EXPECT_NE(table.notes[0].find("\"time\" is read as years with fractions, 12 steps in a year"), std::string::npos)
      << table.notes[0];
  EXPECT_EQ(table_of(prices).time_column, "");
}

TEST(SeriesTable, TablesWithoutNumbersRaiseErrors) {
  EXPECT_THROW(table_of("name,place\nanna,here\nbert,there\ncarl,here\n"), DataError);
  EXPECT_THROW(table_of("value\n1\n2\nx\n4\n5\n6\n7\n8\n9\n10\n11\n"), DataError);
}

/// Returns 30 days of hourly rows; `date` and `part` write the two columns of the times.
std::string divided_times(const std::string& header, const std::function<std::string(int)>& date,
                          const std::function<std::string(int)>& part) {
  std::string text = header + "\n";
  for (int t = 0; t < 720; ++t)
    text += fmt::format("{},{},{}\n", date(t / 24 + 1), part(t % 24), 20 + t * 7 % 13 + (t % 24 == 9 ? 30 : 0));
  return text;
}

TEST(SeriesTable, DatesAndHoursAreReadTogether) {
  const auto iso = [](int day) { return fmt::format("2024-04-{:02}", day); };
  const auto us = [](int day) { return fmt::format("04/{:02}/2024", day); };
  const auto half = [](int h) { return fmt::format("{:02}:00 {}", h % 12 == 0 ? 12 : h % 12, h < 12 ? "AM" : "PM"); };
  const auto hour = [](int h) { return fmt::format("{}", h); };
  const auto end = [](int h) { return fmt::format("{}", h + 1); };
  const auto clock = [](int h) { return fmt::format("{:02}:00", h); };
  const std::pair<std::string, std::string> tables[] = {
      {divided_times("Date,Hour,Calls", iso, hour), "2024-05-01 00:00"},
      {divided_times("Date,Hour,Calls", iso, end), "2024-05-01 00:00"},
      {divided_times("date,time,calls", iso, clock), "2024-05-01 00:00"},
      {divided_times("Date,Time,Calls", us, half), "05/01/2024 00:00"}};
  for (const auto& [text, next] : tables) {
    const SeriesTable table = table_of(text);
    ASSERT_EQ(table.series.size(), 1U) << text.substr(0, 60);
    const TableSeries& series = table.series[0];
    ASSERT_EQ(series.values.size(), 720U);
    EXPECT_EQ(series.values[9], 20 + 9 * 7 % 13 + 30);
    EXPECT_EQ(series.index.label(720), next);
    EXPECT_EQ(series.index.calendar_periods().front(), 24);
    ASSERT_EQ(table.notes.size(), 1U);
    EXPECT_NE(table.notes[0].find("are read together as the times of the rows"), std::string::npos) << table.notes[0];
  }
  EXPECT_NE(table_of(tables[1].first).notes[0].find("1 is read as 00:00"), std::string::npos);
}

TEST(SeriesTable, YearsAndWeeksAreReadTogether) {
  std::string text = "Year,Week,Orders\n";
  for (int year = 2021; year <= 2023; ++year)
    for (int week = 1; week <= 52; ++week) text += fmt::format("{},{},{:.1f}\n", year, week, 90 + week * 7 % 13 * 1.5);
  const SeriesTable table = table_of(text);
  ASSERT_EQ(table.series.size(), 1U);
  EXPECT_EQ(table.series[0].values.size(), 156U);
  EXPECT_EQ(table.series[0].index.label(156), "2024-W01");
}

TEST(SeriesTable, HoursOfSeveralGroupsAreSorted) {
  std::string text = "shop,date,hour,calls\n";
  for (int t = 0; t < 240; ++t)
    for (const char* shop : {"north", "south"})
      text += fmt::format("{},2024-04-{:02},{},{}\n", shop, t / 24 + 1, 23 - t % 24, t / 24 * 24 + 23 - t % 24);
  const SeriesTable table = table_of(text, {.predict = {"calls"}});
  ASSERT_EQ(table.series.size(), 2U);
  for (const TableSeries& series : table.series)
    for (std::size_t t = 0; t < 240; ++t) EXPECT_EQ(series.values[t], static_cast<double>(t));
}

TEST(SeriesTable, TextsAmongNumbersHaveARemedy) {
  std::string text = "shop,day,customers\n";
  for (const char* shop : {"north", "south"})
    for (int day = 1; day <= 28; ++day)
      text += fmt::format("{},2024-02-{:02},{}\n", shop, day, day % 7 == 4 ? "closed" : fmt::format("{}", 200 + day));
  for (const std::vector<std::string>& predict : {std::vector<std::string>{}, {"customers"}}) {
    const std::string message = message_of_table(text, {.predict = predict});
    EXPECT_NE(message.find("48 of 56 values of column \"customers\" are numbers, but \"closed\" in line 5 is not"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("use --missing \"closed\""), std::string::npos) << message;
  }
  const SeriesTable table = table_of(text, {.missing = {.spellings = {"closed"}}});
  ASSERT_EQ(table.series.size(), 2U);
  EXPECT_TRUE(std::isnan(table.series[1].values[3]));
}

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

TEST(ForecastTable, EmptyFutureCovariatesAreNoted) {
  const ScratchFolder folder;
  std::string text = "day,promo,load\n";
  for (int t = 1; t <= 20; ++t)
    text += std::string("2024-05-") + (t < 10 ? "0" : "") + std::to_string(t) + "," + std::to_string(t % 3) + "," +
            std::to_string(10.5 + t % 3) + "\n";
  Reporter reporter;
  const TableForecast forecast =
      forecast_table({.data = folder.write("data.csv", text),
                      .future = folder.write("future.csv", "day,promo\n2024-05-21,1\n2024-05-22,\n2024-05-23,2\n"),
                      .horizon = 3,
                      .members = {"naive"},
                      .threads = 1},
                     reporter);
  ASSERT_FALSE(forecast.table.notes.empty());
  EXPECT_NE(forecast.table.notes.back().find("is empty for 1 of 3 steps; the first is 2024-05-22"), std::string::npos)
      << forecast.table.notes.back();
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

TEST(ForecastTable, FutureCovariatesAreFoundByTime) {
  std::string text = "day,sales,promotion\n";
  for (int t = 0; t < 60; ++t) {
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    const std::string day = format_moment(moment, DateFormat::year_month_day);
    text +=
        day + "," + std::to_string(100 + (t * 7) % 5 + (t % 11 == 0 ? 30 : 0)) + "," + (t % 11 == 0 ? "1" : "0") + "\n";
  }
  const ScratchFolder folder;
  Reporter reporter;
  const ForecastTableRequest request{.data = folder.write("data.csv", text),
                                     .future = folder.write("future.csv",
                                                            "day,promotion\n2024-03-03,1\n2024-03-02,0\n"
                                                            "2024-03-01,0\n"),
                                     .horizon = 3,
                                     .members = {"mean+known", "mean"},
                                     .threads = 1};
  const TableForecast forecast = forecast_table(request, reporter);
  ASSERT_EQ(forecast.forecasts.size(), 1U);
  EXPECT_NEAR(forecast.forecasts[0].mean[2] - forecast.forecasts[0].mean[1], 30, 3);
  EXPECT_EQ(forecast.forecasts[0].members[0].name, "mean+known");

  ForecastTableRequest stated = request;
  stated.schema.predict = {"sales"};
  EXPECT_EQ(forecast_table(stated, reporter).forecasts.at(0).mean, forecast.forecasts[0].mean);

  ForecastTableRequest longer = request;
  longer.horizon = 4;
  EXPECT_THROW(forecast_table(longer, reporter), DataError);
  longer.future = folder.write("other.csv", "day,price\n2024-03-01,1.5\n2024-03-02,2.5\n");
  EXPECT_THROW(forecast_table(longer, reporter), DataError);
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

TEST(ForecastTable, FutureRowsOfIrregularTimesAreMatchedByOrderWithANote) {
  ScratchFolder folder;
  std::string rows = "day,promo,units\n";
  for (int week = 0; week < 12; ++week)
    for (const int day : {0, 1, 3}) {
      const int of_year = 7 * week + day;
      const int promo = of_year % 2;
      rows += fmt::format("2024-{:02}-{:02},{},{}\n", 1 + of_year / 28, 1 + of_year % 28, promo, 10 + 5 * promo + day);
    }
  const SeriesTable table = read_series_table(folder.write("days.csv", rows), {}, {.covariates = {"promo"}});
  const SeriesTable future =
      read_series_table(folder.write("future.csv", "day,promo\n2031-07-01,1\n2031-07-02,0\n2031-07-03,1\n"), {});
  SeriesTable left = table;
  take_known_covariates(left, future, "future.csv", 3);
  ASSERT_FALSE(left.notes.empty());
  EXPECT_NE(left.notes.front().find("add a row with empty values for each missing time"), std::string::npos);
  EXPECT_NE(left.notes.back().find("by their order, not by their dates"), std::string::npos);
}

/// Returns 60 days of sales of two shops, which are higher by 30 on holidays.
std::string two_shops() {
  std::string text = "day,shop,sales,holiday\n";
  for (Index t = 0; t < 60; ++t)
    for (const char* shop : {"a", "b"}) {
      Moment moment;
      moment.days = days_from_civil(2024, 1, 1) + t;
      const Index holiday = (t * t + 3 * t) % 11 == 0 ? 1 : 0;
      text += fmt::format("{},{},{},{}\n", format_moment(moment, DateFormat::year_month_day), shop,
                          (*shop == 'a' ? 100 : 50) + (t * 7) % 5 + 30 * holiday, holiday);
    }
  return text;
}

bool has_note(const SeriesTable& table, const std::string& part) {
  return std::ranges::any_of(table.notes,
                             [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(ForecastTable, ACalendarWithoutGroupsAppliesToAllGroups) {
  const ScratchFolder folder;
  Reporter reporter;
  const TableForecast forecast =
      forecast_table({.data = folder.write("data.csv", two_shops()),
                      .future = folder.write("future.csv", "day,holiday\n2024-03-01,0\n2024-03-02,1\n"),
                      .horizon = 2,
                      .members = {"mean+known"},
                      .threads = 1},
                     reporter);
  ASSERT_EQ(forecast.forecasts.size(), 2U);
  for (const auto& one : forecast.forecasts) EXPECT_NEAR(one.mean[1] - one.mean[0], 30, 5);
  EXPECT_TRUE(has_note(forecast.table, "column \"shop\" is missing, so the same values are used for all groups"));
}

TEST(ForecastTable, TheTargetInTheTableOfTheFutureIsNotUsed) {
  const ScratchFolder folder;
  Reporter reporter;
  const TableForecast forecast = forecast_table(
      {.data = folder.write("data.csv", two_shops()),
       .future = folder.write("future.csv",
                              "day,shop,sales,holiday\n2024-03-01,a,0,0\n2024-03-02,a,0,1\n2024-03-01,b,0,0\n"
                              "2024-03-02,b,0,1\n"),
       .horizon = 2,
       .members = {"mean+known"},
       .threads = 1},
      reporter);
  ASSERT_EQ(forecast.table.fields, (std::vector<std::string>{"sales"}));
  for (const auto& one : forecast.forecasts) EXPECT_NEAR(one.mean[1] - one.mean[0], 30, 5);
  EXPECT_TRUE(has_note(forecast.table, "column \"sales\" is forecast, so its values in this table are not used"));
}

TEST(ForecastTable, TheBacktestOfALongHorizonNamesTheStepsThatWereCompared) {
  const std::string text = describe_members(forecast_of(two_shops(), 500, {"mean"}));
  EXPECT_NE(text.find("horizon 500, of which at most"), std::string::npos) << text;
  EXPECT_EQ(describe_members(forecast_of(two_shops(), 3, {"mean"})).find("of which"), std::string::npos);
}

/// Returns a table of sales on the days from 2024-01-01, a Monday, whose weekdays (0 for Monday) are in a set; days in
/// `left_out` have no row.
std::string shop_table(Weekdays open, Index days, const std::vector<Index>& left_out = {}) {
  std::string text = "day,promotion,sales\n";
  for (Index t = 0; t < days; ++t) {
    if (!has_weekday(open, t % 7) || std::ranges::find(left_out, t) != left_out.end()) continue;
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    const Index promotion = t % 11 == 0 ? 1 : 0;
    text += fmt::format("{},{},{}\n", format_moment(moment, DateFormat::year_month_day), promotion,
                        100 + 10 * (t % 7) + 40 * promotion + (t * 5) % 3);
  }
  return text;
}

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

/// Returns 140 days of sales, which are higher by 40 with a promotion.
std::string promoted_table(const std::string& with, const std::string& without) {
  std::string text = "day,sales,promo\n";
  for (Index t = 0; t < 140; ++t) {
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    const bool promoted = (t * t + 3 * t) % 11 == 0;
    text += fmt::format("{},{},{}\n", format_moment(moment, DateFormat::year_month_day),
                        100 + (t * 7) % 13 + (promoted ? 40 : 0), promoted ? with : without);
  }
  return text;
}

/// Returns the message of the error, or the mean of the second day minus that of the first.
std::string effect_of_future(const std::string& data, const std::string& future) {
  const ScratchFolder folder;
  Reporter reporter;
  try {
    const TableForecast f = forecast_table({.data = folder.write("data.csv", data),
                                            .future = folder.write("future.csv", future),
                                            .horizon = 2,
                                            .members = {"mean+known"},
                                            .threads = 1},
                                           reporter);
    return std::fabs(f.forecasts.at(0).mean[1] - f.forecasts.at(0).mean[0] - 40) < 8 ? "effect" : "no effect";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(KnownCovariates, DatesMayBeWrittenDifferently) {
  const std::string data = promoted_table("1", "0");  // ends on 2024-05-19
  for (const char* future :
       {"day,promo\n2024-05-20,0\n2024-05-21,1\n", "day,promo\n20.05.2024,0\n21.05.2024,1\n",
        "day,promo\n05/20/2024,0\n05/21/2024,1\n", "promo,day\n1,May 21 2024\n0,May 20 2024\n", "promo\n0\n1\n"})
    EXPECT_EQ(effect_of_future(data, future), "effect") << future;
  const std::string late = effect_of_future(data, "day,promo\n05/22/2024,0\n05/23/2024,1\n");
  EXPECT_NE(late.find("no value for \"2024-05-20\""), std::string::npos) << late;
  EXPECT_NE(late.find("read as MM/DD/YYYY, are from 2024-05-22 to 2024-05-23"), std::string::npos) << late;
}

TEST(KnownCovariates, DatesWithoutEvidenceAreReadLikeThoseOfTheData) {
  std::string data = "day,sales,promo\n";  // 2024-01-05 to 2024-05-05
  for (Index t = 0; t < 122; ++t) {
    Moment moment;
    moment.days = days_from_civil(2024, 1, 5) + t;
    data += fmt::format("{},{},{}\n", format_moment(moment, DateFormat::day_month_year),
                        100 + (t * 7) % 13 + (t % 9 == 0 ? 40 : 0), t % 9 == 0 ? 1 : 0);
  }
  EXPECT_EQ(effect_of_future(data, "day,promo\n06/05/2024,0\n07/05/2024,1\n"), "effect");
}

TEST(KnownCovariates, CategoriesAreIndicators) {
  EXPECT_EQ(effect_of_future(promoted_table("yes", "no"), "day,promo\n2024-05-20,no\n2024-05-21,yes\n"), "effect");
  const std::string unknown =
      effect_of_future(promoted_table("yes", "no"), "day,promo\n2024-05-20,no\n2024-05-21,maybe\n");
  EXPECT_NE(unknown.find("line 3: \"maybe\" in column \"promo\" does not occur in the data"), std::string::npos)
      << unknown;
  const std::string constant =
      effect_of_future(promoted_table("no", "no"), "day,promo\n2024-05-20,no\n2024-05-21,yes\n");
  EXPECT_NE(constant.find("there is no covariate"), std::string::npos) << constant;
}

TEST(KnownCovariates, EmptyCellsAreACategory) {
  for (const char* with : {"yes", "1", "Easter"})
    EXPECT_EQ(effect_of_future(promoted_table(with, ""), fmt::format("day,promo\n2024-05-20,\n2024-05-21,{}\n", with)),
              "effect")
        << with;
  EXPECT_EQ(effect_of_future(promoted_table("", "no"), "day,promo\n2024-05-20,no\n2024-05-21,\n"), "effect");
  // A table of the future without any event has no effect, which is not an error.
  EXPECT_EQ(effect_of_future(promoted_table("yes", ""), "day,promo\n2024-05-20,\n2024-05-21,\n"), "no effect");
  const ScratchFolder folder;
  const std::string data = folder.write("data.csv", promoted_table("yes", ""));
  const SeriesTable table = read_series_table(data, {}, {.covariates = {"promo"}});
  EXPECT_EQ(table.fields, (std::vector<std::string>{"sales", "promo=yes"}));
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_NE(table.notes[0].find("they are read as one more category"), std::string::npos) << table.notes[0];
  EXPECT_EQ(std::ranges::count_if(table.series[1].values, [](double x) { return std::isnan(x); }), 0);
}

TEST(KnownCovariates, NumbersAreReadLikeThoseOfTheData) {
  std::string data = promoted_table("2.400", "0");  // 2400, by the semicolons and the dates
  std::ranges::replace(data, ',', ';');
  for (Index t = 0; t < 140; ++t) {
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    const std::string iso = format_moment(moment, DateFormat::year_month_day);
    data.replace(data.find(iso), iso.size(), iso.substr(8) + "." + iso.substr(5, 2) + "." + iso.substr(0, 4));
  }
  EXPECT_EQ(effect_of_future(data, "day;promo\n2024-05-20;0\n2024-05-21;2.400\n"), "effect");
}

TEST(KnownCovariates, MistakesAreNamed) {
  const std::string data = promoted_table("1", "0");
  const auto has = [&](const std::string& future, const std::string& part) {
    const std::string message = effect_of_future(data, future);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has("day,promotion\n2024-05-20,0\n2024-05-21,1\n", "the data has no column \"promotion\"");
  has("day,promos\n2024-05-20,0\n2024-05-21,1\n", "did you mean \"promo\"?");
  has("day,promo\n2024-05-20,no\n2024-05-21,yes\n", "has numbers in the data, but texts here, such as \"no\"");
  has("day,promo\n", "only the names of the columns");
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

/// Returns the rows of three countries in 40 years in a mixed order; the values are the year minus 1900.
std::string shuffled_years(const std::string& column, bool groups) {
  std::string text = groups ? "country," : "";
  text += column + ",gdp\n";
  for (Index k = 0; k < (groups ? 120 : 40); ++k) {
    const Index i = 37 * k % (groups ? 120 : 40), year = 1980 + i % 40;
    text += (groups ? fmt::format("{},", "ABC"[i / 40]) : "") + fmt::format("{},{}.5\n", year, year - 1900);
  }
  return text;
}

TEST(CountedTimes, ShuffledYearsAreSorted) {
  for (const char* name : {"time", "period", "t"}) {
    const SeriesTable one = table_of(shuffled_years(name, false));
    ASSERT_EQ(one.series.size(), 1U) << name;
    EXPECT_EQ(one.time_column, name);
    EXPECT_EQ(one.fields, (std::vector<std::string>{"gdp"}));
    for (std::size_t t = 0; t < 40; ++t) EXPECT_EQ(one.series[0].values[t], 80.5 + static_cast<double>(t));
    EXPECT_EQ(one.series[0].index.label(40), "2020");
    EXPECT_TRUE(has_note(one, fmt::format("the integers of column \"{}\" are read as times;", name)));

    const SeriesTable three = table_of(shuffled_years(name, true));
    ASSERT_EQ(three.series.size(), 3U) << name;
    EXPECT_EQ(three.group_column, "country");
    for (const TableSeries& series : three.series) EXPECT_EQ(series.values.back(), 119.5);
    EXPECT_TRUE(has_note(three, "and column \"country\" as the group"));
  }
}

TEST(CountedTimes, AMissingYearIsAMissingValue) {
  std::string text = "time,gdp\n";
  for (Index year = 1950; year < 1990; ++year)
    if (year != 1970) text += fmt::format("{},{}.5\n", year, year);
  const SeriesTable table = table_of(text);
  EXPECT_EQ(table.series[0].values.size(), 40U);
  EXPECT_TRUE(std::isnan(table.series[0].values[20]));
}

TEST(CountedTimes, OtherIntegersAreNot) {
  std::string repeated = "country,time,gdp\n", durations = "time,load\n", hours = "hour,load\n";
  for (Index t = 0; t < 60; ++t) {
    repeated += fmt::format("{},{},{}.5\n", "ABC"[t % 3], 1980 + t * 7 % 10, t * 5 % 11);
    durations += fmt::format("{},{}.5\n", t * t * 13 % 997 + 1000 * (t % 7), t % 5);
    hours += fmt::format("{},{}.5\n", t % 24, t % 5);
  }
  const SeriesTable merged = table_of(repeated);
  EXPECT_EQ(merged.series.size(), 1U);
  EXPECT_TRUE(has_note(merged, "read as one series in the order of the file"));
  EXPECT_TRUE(has_note(merged, "use --group country"));
  EXPECT_EQ(table_of(durations).time_column, "");
  EXPECT_EQ(table_of(hours).time_column, "");
}

/// Keeps the notes of a function.
class KeptNotes final : public Reporter {
 public:
  void remark(std::string_view text) override { text_ += std::string(text) + "\n"; }
  bool has(const std::string& part) const { return text_.find(part) != std::string::npos; }

 private:
  std::string text_;
};

TEST(ForecastTable, UnusedCovariatesAreNoted) {
  const ScratchFolder folder;
  const std::string data = folder.write("data.csv", shop_table(0b1111111, 60));
  const std::string future = folder.write("future.csv", "day,promotion\n2024-03-01,0\n2024-03-02,1\n");
  const auto notes = [&](const std::vector<std::string>& members) {
    KeptNotes kept;
    forecast_table({.data = data, .future = future, .horizon = 2, .members = members, .threads = 1}, kept);
    return kept;
  };
  EXPECT_TRUE(notes({"mean"}).has("are not used: no member has the suffix +known, such as mean+known"));
  EXPECT_FALSE(notes({"mean", "mean+known"}).has("are not used"));
}

TEST(MonthTable, AMissingYearIsNamedWithItsRemedy) {
  const std::string header = "YEAR,JAN,FEB,MAR,APR,MAY,JUN,JUL,AUG,SEP,OCT,NOV,DEC\n";
  const std::string year = ",1,2,3,4,5,6,7,8,9,10,11,12\n";
  EXPECT_NE(message_of_table(header + "2000" + year + "2002" + year)
                .find("line 3: the year 2001 is missing; add a row with the year and 12 empty cells for it"),
            std::string::npos);
  EXPECT_NE(message_of_table(header + "2000" + year + "2004" + year).find("the years 2001 to 2003 are missing; add"),
            std::string::npos);
  EXPECT_NE(message_of_table(header + "2001" + year + "2000" + year).find("\"2000\" does not follow 2001"),
            std::string::npos);
  const SeriesTable table = table_of(header + "2000" + year + "2001,,,,,,,,,,,,\n" + "2002" + year);
  EXPECT_EQ(table.series.at(0).values.size(), 36U);
}

TEST(ForecastTable, UnusualCovariatesAreNoted) {
  std::string data = "day,price,sales\n";
  for (Index day = 1; day <= 28; ++day)
    data += fmt::format("2024-02-{:02},{},{}\n", day, 10 + day % 5, 100 - 3 * (day % 5) + day % 3);
  const ScratchFolder folder;
  const auto has_notes = [&](const std::string& last) {
    KeptNotes kept;
    forecast_table({.data = folder.write("data.csv", data),
                    .future = folder.write("future.csv", "day,price\n2024-02-29,11\n2024-03-01," + last + "\n"),
                    .horizon = 2,
                    .members = {"mean+known"},
                    .threads = 1},
                   kept);
    return kept.has("column \"price\" is " + last + " at 2024-03-01, but from 10 to 14 in the data");
  };
  EXPECT_TRUE(has_notes("9999"));
  EXPECT_TRUE(has_notes("5"));
  EXPECT_FALSE(has_notes("16"));
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
