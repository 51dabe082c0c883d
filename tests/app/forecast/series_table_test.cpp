#include "app/forecast/series_table.h"
#include "data/cells/civil_date.h"
#include "data/schema/inference/infer_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/app/forecast/forecast_of_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::groups_text;
using testing_support::has_note;
using testing_support::message_of_table;
using testing_support::ScratchFolder;
using testing_support::table_of;
using Values = std::vector<double>;

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

TEST(SeriesTable, AbsentDaysAreNamed) {
  std::string text = "ds,y\n", later = "ds,shop,y\n";
  for (Index t = 0; t < 100; ++t) {
    Moment moment;
    moment.days = days_from_civil(2023, 1, 2) + t;
    const std::string date = forecasting::format_moment(moment, DateFormat::day_month_year);
    if (t % 6 != 3 || t == 99) text += fmt::format("{},{}.5\n", date, t);
    for (const char* shop : {"a", "b"})
      if (t % 3 != (*shop == 'a' ? 1 : 2)) later += fmt::format("{},{},{}.5\n", date, shop, t);
  }
  const SeriesTable table = table_of(text);
  ASSERT_EQ(table.series.at(0).values.size(), 100U);
  EXPECT_TRUE(std::isnan(table.series[0].values[3]));
  EXPECT_EQ(table.series[0].values[99], 99.5);
  EXPECT_EQ(table.series[0].index.label(100), "12/04/2023");
  EXPECT_TRUE(
      has_note(table,
               "column \"ds\", daily: 16 of the 100 times from the first to the last row do not occur; they are "
               "read as missing values"))
      << table.notes.back();
  const SeriesTable groups = table_of(later, {.group = "shop"});
  ASSERT_EQ(groups.series.size(), 2U);
  EXPECT_EQ(groups.series[1].values.size(), 100U);
  EXPECT_TRUE(has_note(groups, "66 of the 200 times of all series do not occur")) << groups.notes.back();
}

/// The longest group alone has the step of working days.
TEST(SeriesTable, TheTimesOfAllGroupsDetermineTheStep) {
  std::string text = "date,shop,y\n";
  for (Index t = 0; t < 140; ++t) {
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    const std::string date = forecasting::format_moment(moment, DateFormat::year_month_day);
    if (t % 7 < 5) text += fmt::format("{},a,{}.5\n", date, t);
    if (t < 70) text += fmt::format("{},b,{}.5\n", date, t);
  }
  const SeriesTable table = table_of(text, {.group = "shop"});
  ASSERT_EQ(table.series.size(), 2U);
  EXPECT_EQ(table.series[0].values.size(), 138U);
  EXPECT_EQ(table.series[1].values.size(), 70U);
  EXPECT_EQ(table.series[1].index.label(70), "2024-03-11");
}

TEST(SeriesTable, ColumnsThatLeaveOutYearsHaveMissingValues) {
  std::string header = "country", row = "A";
  for (int year = 1990; year < 2020; ++year)
    if (year != 2004 && year != 2007) header += fmt::format(",{}", year), row += fmt::format(",{}.5", year);
  const SeriesTable table = table_of(header + "\n" + row + "\n");
  ASSERT_EQ(table.series.size(), 1U);
  ASSERT_EQ(table.series[0].values.size(), 30U);
  EXPECT_TRUE(std::isnan(table.series[0].values[14]));
  EXPECT_EQ(table.series[0].values[29], 2019.5);
  EXPECT_TRUE(has_note(table, "leave out 2 of 30 times"));
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

TEST(SeriesTable, DatesAndPeriodsAreReadTogether) {
  std::string text = "SETTLEMENT_DATE,SETTLEMENT_PERIOD,ND\n", shifts = "date,period,calls\n";
  for (int t = 0; t < 480; ++t) {
    text += fmt::format("2024-01-{:02},{},{}\n", t / 48 + 1, t % 48 + 1, 1000 + t * 7 % 130);
    shifts += fmt::format("2024-{:02}-{:02},{},{}\n", t / 3 / 28 + 1, t / 3 % 28 + 1, t % 3 + 1, 1000 + t * 7 % 130);
  }
  const SeriesTable table = table_of(text);
  ASSERT_EQ(table.series.size(), 1U);
  EXPECT_EQ(table.series[0].values.size(), 480U);
  EXPECT_EQ(table.series[0].values[50], 1000 + 50 * 7 % 130);
  EXPECT_EQ(table.series[0].index.label(481), "2024-01-11 00:30");
  EXPECT_TRUE(has_note(table, "the numbers 1 to 48 are equal parts of the day, so 1 is read as 00:00"));
  // Three shifts may have different lengths.
  EXPECT_NE(message_of_table(shifts).find("if period identifies the series"), std::string::npos);
}

TEST(SeriesTable, RepeatedHoursInANightOfSundayHaveARemedy) {
  std::string text = "local,mw\n", noon = text;
  for (const char* time : {"26 23", "27 00", "27 01", "27 01", "27 02", "27 03", "27 04", "27 05", "27 06", "27 07"})
    text += fmt::format("2024-10-{}:00,{}.5\n", time, 10 * text.size());
  for (const char* time : {"27 10", "27 11", "27 12", "27 12", "27 13", "27 14", "27 15", "27 16", "27 17", "27 18"})
    noon += fmt::format("2024-10-{}:00,{}.5\n", time, 10 * noon.size());
  EXPECT_NE(message_of_table(text).find("if the clock was set back in this night, write the times in UTC"),
            std::string::npos)
      << message_of_table(text);
  EXPECT_NE(message_of_table(noon).find("have the same time"), std::string::npos);
  EXPECT_EQ(message_of_table(noon).find("set back"), std::string::npos);
}

TEST(SeriesTable, EmptyValuesAtTheEndAreNoted) {
  std::string text = "date,sales,promo\n";
  for (int day = 1; day <= 28; ++day)
    text += fmt::format("2024-02-{:02},{},{}\n", day, day > 25 ? "" : fmt::format("{}.5", 90 + day * 7 % 11), day % 3);
  const SeriesTable table = table_of(text, {.predict = {"sales"}});
  EXPECT_TRUE(
      has_note(table,
               "the last 3 values of column \"sales\" are empty (2024-02-26 to 2024-02-28); the forecast begins "
               "after them, at 2024-02-29; to forecast them, remove their rows, or move the rows to a table for "
               "--future"))
      << table.notes.back();
}

TEST(SeriesTable, FiscalYearsAreNotTimes) {
  std::string text = "FY,rev\n";
  for (int year = 2000; year < 2020; ++year)
    text += fmt::format("FY{}/{:02},{}.5\n", year, (year + 1) % 100, 100 + (year - 2000) * 3);
  const SeriesTable table = table_of(text);
  EXPECT_TRUE(has_note(table, "column \"FY\" has texts such as \"FY2000/01\", which are not read as times"));
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

}  // namespace
}  // namespace unfold
