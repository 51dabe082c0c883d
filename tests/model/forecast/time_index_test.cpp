#include "model/forecast/time_index.h"

#include <gtest/gtest.h>

namespace unfold::forecasting {
namespace {

std::vector<Moment> dates(const std::vector<std::string>& texts, DateFormat format) {
  std::vector<Moment> result;
  for (const std::string& text : texts) result.push_back(*parse_date(text, format));
  return result;
}

std::vector<std::string> labels(const std::vector<std::string>& texts, DateFormat format, Index first, Index count) {
  const auto index = TimeIndex::of_dates(dates(texts, format), format);
  if (!index) return {"no step"};
  std::vector<std::string> result;
  for (Index t = first; t < first + count; ++t) result.push_back(index->label(t));
  return result;
}

using Texts = std::vector<std::string>;

Moment day(Index days) {
  Moment moment;
  moment.days = days;
  return moment;
}

TEST(TimeIndex, ExtendsDaysWithGaps) {
  const Texts texts{"2024-02-25", "2024-02-26", "2024-02-28"};
  EXPECT_EQ(labels({"2024-02-25", "2024-02-26", "2024-02-27", "2024-02-28"}, DateFormat::year_month_day, 4, 2),
            (Texts{"2024-02-29", "2024-03-01"}));
  std::vector<Moment> long_series = dates({"2024-01-01"}, DateFormat::year_month_day);
  for (int t = 1; t < 40; ++t) {
    Moment next = long_series.back();
    next.days += t == 20 ? 3 : 1;
    long_series.push_back(next);
  }
  const auto index = TimeIndex::of_dates(long_series, DateFormat::year_month_day);
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->place(long_series.back()), 41);
}

TEST(TimeIndex, ExtendsHoursOverMidnight) {
  EXPECT_EQ(
      labels({"2018-06-26 21:00:00", "2018-06-26 22:00:00", "2018-06-26 23:00:00"}, DateFormat::year_month_day, 3, 2),
      (Texts{"2018-06-27 00:00", "2018-06-27 01:00"}));
}

TEST(TimeIndex, ExtendsMonthsQuartersAndYears) {
  EXPECT_EQ(labels({"1949-10-01", "1949-11-01", "1949-12-01"}, DateFormat::year_month_day, 3, 2),
            (Texts{"1950-01-01", "1950-02-01"}));
  EXPECT_EQ(labels({"2023-12-31", "2024-01-31", "2024-02-29"}, DateFormat::year_month_day, 3, 2),
            (Texts{"2024-03-31", "2024-04-30"}));
  EXPECT_EQ(labels({"2023-11", "2023-12", "2024-01"}, DateFormat::year_month, 3, 2), (Texts{"2024-02", "2024-03"}));
  EXPECT_EQ(labels({"1999Q3", "1999Q4", "2000Q1"}, DateFormat::quarter, 3, 2), (Texts{"2000Q2", "2000Q3"}));
  EXPECT_EQ(labels({"1968", "1969", "1970"}, DateFormat::year, 3, 2), (Texts{"1971", "1972"}));
}

TEST(TimeIndex, TwoDatesHaveAStep) {
  EXPECT_EQ(labels({"2024-01-05", "2024-02-05"}, DateFormat::year_month_day, 2, 1), (Texts{"2024-03-05"}));
  EXPECT_EQ(labels({"2024-01-05", "2024-01-12"}, DateFormat::year_month_day, 2, 1), (Texts{"2024-01-19"}));
}

TEST(TimeIndex, ExtendsWorkingDays) {
  Texts texts;
  for (Index days = days_from_civil(2024, 1, 1); days < days_from_civil(2024, 1, 27); ++days)
    if ((days + 3) % 7 < 5) texts.push_back(format_moment(day(days), DateFormat::year_month_day));
  const Index n = static_cast<Index>(texts.size());
  EXPECT_EQ(labels(texts, DateFormat::year_month_day, n - 1, 3), (Texts{"2024-01-26", "2024-01-29", "2024-01-30"}));
}

TEST(TimeIndex, IrregularDatesHaveNoIndex) {
  EXPECT_EQ(labels({"2024-01-01", "2024-01-02", "2024-01-09", "2024-01-11"}, DateFormat::year_month_day, 0, 1),
            (Texts{"no step"}));
}

TEST(TimeIndex, NumbersHaveAStep) {
  const auto index = TimeIndex::of_numbers(std::vector<double>{0.5, 0.6, 0.7, 0.9});
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->place(0.9), 4);
  EXPECT_EQ(index->label(5), "1");
  EXPECT_FALSE(TimeIndex::of_numbers(std::vector<double>{0, 1, 2.5, 3}).has_value());
}

TEST(TimeIndex, SuggestsPeriods) {
  const auto monthly =
      TimeIndex::of_dates(dates({"2023-11", "2023-12", "2024-01"}, DateFormat::year_month), DateFormat::year_month);
  EXPECT_EQ(monthly->calendar_periods(), (std::vector<Index>{12}));
  const auto hourly = TimeIndex::of_dates(
      dates({"2018-06-26 21:00", "2018-06-26 22:00", "2018-06-26 23:00"}, DateFormat::year_month_day),
      DateFormat::year_month_day);
  EXPECT_EQ(hourly->calendar_periods(), (std::vector<Index>{24, 168}));
}

TEST(TimeIndex, LabelsAreReadBackByTheParser) {
  for (int k = 0; k < kDateFormats; ++k) {
    const auto format = static_cast<DateFormat>(k);
    if (format == DateFormat::unix_seconds || format == DateFormat::unix_milliseconds ||
        format == DateFormat::compact || format == DateFormat::year || format == DateFormat::time_of_day)
      continue;  // integers, which parse_date does not read as texts, and times without a day
    const Moment moment = day(days_from_civil(2024, 4, 1));
    const auto read = parse_date(format_moment(moment, format), format);
    ASSERT_TRUE(read.has_value()) << date_pattern(format);
    EXPECT_EQ(read->days, moment.days) << date_pattern(format);
  }
}

}  // namespace
}  // namespace unfold::forecasting
