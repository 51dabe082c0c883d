#include "app/forecast/known_covariates.h"
#include "app/forecast/forecast_table.h"
#include "data/cells/civil_date.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/app/forecast/forecast_of_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using forecasting::format_moment;
using testing_support::has_note;
using testing_support::ScratchFolder;
using testing_support::shop_table;
using testing_support::two_shops;

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

}  // namespace
}  // namespace unfold
