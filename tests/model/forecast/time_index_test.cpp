#include "model/forecast/time_index.h"
#include "data/cells/civil_date.h"

#include <gtest/gtest.h>

#include "unfold/numerics/random.h"

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

/// Returns the days from 2024-01-01, a Monday, whose weekdays (0 for Monday) are in a set.
std::vector<Moment> open_dates(Weekdays open, Index days) {
  std::vector<Moment> result;
  for (Index t = 0; t < days; ++t)
    if (has_weekday(open, t % 7)) result.push_back(day(days_from_civil(2024, 1, 1) + t));
  return result;
}

TEST(TimeIndex, ExtendsOpenDaysOfEveryWeek) {
  for (Weekdays open = 1; open < 127; ++open) {
    const std::vector<Moment> all = open_dates(open, 140);
    if (weekday_count(open) < 2) continue;
    const std::vector<Moment> known(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    const auto index = TimeIndex::of_dates(known, DateFormat::year_month_day);
    ASSERT_TRUE(index.has_value()) << open;
    EXPECT_TRUE(index->has_closed_days()) << open;
    EXPECT_EQ(index->calendar_periods(), (std::vector<Index>{weekday_count(open)})) << open;
    for (std::size_t t = 0; t < all.size(); ++t) {
      EXPECT_EQ(index->moment(static_cast<Index>(t)).days, all[t].days) << open << " " << t;
      EXPECT_EQ(index->place(all[t]), static_cast<Index>(t)) << open << " " << t;
    }
    EXPECT_EQ(index->moment(-1).days,
              known.front().days - (known[at(weekday_count(open))].days - known[at(weekday_count(open) - 1)].days))
        << open;
  }
}

TEST(TimeIndex, ClosedDaysHaveNoPosition) {
  const auto index = TimeIndex::of_dates(open_dates(0b0111111, 60), DateFormat::year_month_day);
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->step_name(), "every day except Sunday");
  EXPECT_FALSE(index->place(day(days_from_civil(2024, 1, 7))).has_value());
  EXPECT_EQ(index->place(day(days_from_civil(2024, 1, 8))), 6);
}

TEST(TimeIndex, MissingOpenDaysAreGaps) {
  std::vector<Moment> dates = open_dates(0b0111110, 90);
  const Index last = static_cast<Index>(dates.size()) - 1;
  dates.erase(dates.begin() + 30, dates.begin() + 32);
  const auto index = TimeIndex::of_dates(dates, DateFormat::year_month_day);
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->place(dates[29]), 29);
  EXPECT_EQ(index->place(dates[30]), 32);
  EXPECT_EQ(index->place(dates.back()), last);
}

TEST(TimeIndex, IrregularDatesHaveNoIndex) {
  EXPECT_EQ(labels({"2024-01-01", "2024-01-02", "2024-01-09", "2024-01-11"}, DateFormat::year_month_day, 0, 1),
            (Texts{"no step"}));
}

/// Returns the dates without a share of them, which is chosen at random; the first and the last one are kept.
std::vector<Moment> with_gaps(const std::vector<Moment>& dates, double absent, std::uint64_t seed) {
  Random random(seed, 0);
  std::vector<Moment> kept;
  for (std::size_t t = 0; t < dates.size(); ++t)
    if (t == 0 || t + 1 == dates.size() || random.uniform() >= absent) kept.push_back(dates[t]);
  return kept;
}

std::vector<Moment> months_from(Index count, Index step, Index day) {
  std::vector<Moment> dates;
  for (Index t = 0; t < count; ++t) {
    const Index year = 2001 + t * step / 12, month = t * step % 12 + 1;
    Moment moment;
    moment.days = days_from_civil(year, month, std::min(day, days_in_month(year, month)));
    dates.push_back(moment);
  }
  return dates;
}

std::vector<Moment> seconds_from(Index count, Index step) {
  std::vector<Moment> dates;
  for (Index t = 0; t < count; ++t) {
    Moment moment;
    moment.days = days_from_civil(2023, 1, 2) + t * step / 86400, moment.second = t * step % 86400;
    moment.has_time = step < 86400;
    dates.push_back(moment);
  }
  return dates;
}

/// Dates of which up to nearly a half are absent have the places that they have among all dates.
TEST(TimeIndex, ManyDatesMayBeAbsent) {
  const std::vector<std::pair<std::string, std::vector<Moment>>> calendars = {
      {"daily", seconds_from(275, 86400)},
      {"hourly", seconds_from(700, 3600)},
      {"every 30 minutes", seconds_from(400, 1800)},
      {"weekly", seconds_from(150, 7 * 86400)},
      {"every 2 days", seconds_from(200, 2 * 86400)},
      {"monthly", months_from(120, 1, 1)},
      {"monthly", months_from(120, 1, 15)},
      {"monthly", months_from(120, 1, 31)},
      {"quarterly", months_from(80, 3, 1)},
      {"yearly", months_from(100, 12, 1)},
      {"working days", open_dates(kMondayToFriday, 400)},
      {"every day except Sunday", open_dates(0b0111111, 300)},
      {"every Monday and Thursday", open_dates(0b0001001, 400)}};
  for (const auto& [name, all] : calendars)
    for (const double absent : {0.02, 0.1, 0.15, 0.3, 0.35})
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const std::vector<Moment> dates = with_gaps(all, absent, seed);
        const auto index = TimeIndex::of_dates(dates, DateFormat::year_month_day);
        ASSERT_TRUE(index.has_value()) << name << " " << absent << " " << seed;
        EXPECT_EQ(index->step_name(), name) << absent << " " << seed;
        EXPECT_EQ(index->place(dates.back()), static_cast<Index>(all.size()) - 1) << name << " " << absent;
        EXPECT_EQ(index->moment(17).seconds(), all[17].seconds()) << name << " " << absent;
      }
}

TEST(TimeIndex, MostDatesMustNotBeAbsent) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_FALSE(TimeIndex::of_dates(with_gaps(seconds_from(300, 86400), 0.7, seed), DateFormat::year_month_day));
    EXPECT_FALSE(TimeIndex::of_dates(with_gaps(months_from(200, 1, 1), 0.7, seed), DateFormat::year_month_day));
  }
  // One difference of a century among seconds.
  std::vector<Moment> seconds = with_gaps(seconds_from(300, 1), 0.2, 1);
  for (std::size_t t = 200; t < seconds.size(); ++t) seconds[t].days += 36525;
  EXPECT_FALSE(TimeIndex::of_dates(seconds, DateFormat::year_month_day));
}

/// Sundays that are absent by chance are no reason to leave out all Sundays.
TEST(TimeIndex, FewWeeksDoNotShowClosedDays) {
  std::vector<Moment> dates;
  for (const Index t : {0, 1, 2, 4, 5, 7, 9, 10, 11, 14, 15, 16, 17, 18, 21, 22, 24, 25, 26}) {
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    dates.push_back(moment);
  }
  const auto index = TimeIndex::of_dates(dates, DateFormat::year_month_day);
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->step_name(), "daily");
}

TEST(TimeIndex, DatesOffTheGridHaveNoIndex) {
  std::vector<Moment> dates = with_gaps(seconds_from(300, 3600), 0.15, 1);
  dates[100].second += 1;
  EXPECT_FALSE(TimeIndex::of_dates(dates, DateFormat::year_month_day));
}

TEST(TimeIndex, NumbersHaveAStep) {
  const auto index = TimeIndex::of_numbers(std::vector<double>{0.5, 0.6, 0.7, 0.9});
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->place(0.9), 4);
  EXPECT_EQ(index->label(5), "1");
  EXPECT_FALSE(TimeIndex::of_numbers(std::vector<double>{0, 1, 2.5, 3}).has_value());
}

TEST(TimeIndex, YearsMayHaveFractions) {
  std::vector<double> months;
  for (int t = 0; t < 30; ++t) months.push_back(std::round(1000 * (1949 + (t + 1) / 12.0)) / 1000);
  months.erase(months.begin() + 7);
  const auto monthly = TimeIndex::of_numbers(months);
  ASSERT_TRUE(monthly.has_value());
  EXPECT_TRUE(monthly->has_years());
  EXPECT_EQ(monthly->calendar_periods(), std::vector<Index>{12});
  EXPECT_EQ(monthly->place(1950.667), 19);
  EXPECT_EQ(monthly->label(12), "1950.083");
  EXPECT_EQ(monthly->starting_at(1950.417).place(1950.5), 1);

  const auto quarterly = TimeIndex::of_numbers(std::vector<double>{1956, 1956.25, 1956.5, 1957});
  ASSERT_TRUE(quarterly.has_value());
  EXPECT_EQ(quarterly->calendar_periods(), std::vector<Index>{4});
  EXPECT_EQ(quarterly->label(5), "1957.25");
  // The middles of the months by their days, with four decimals.
  const auto middles = TimeIndex::of_numbers(std::vector<double>{1958.2027, 1958.2877, 1958.3699, 1958.4548, 1958.537});
  ASSERT_TRUE(middles.has_value());
  EXPECT_EQ(middles->calendar_periods(), std::vector<Index>{12});
  EXPECT_EQ(middles->label(4).substr(0, 6), "1958.5");
  EXPECT_FALSE(TimeIndex::of_numbers(std::vector<double>{5.0, 5.25, 5.5})->has_years());
  EXPECT_FALSE(TimeIndex::of_numbers(std::vector<double>{1990, 1991, 1992})->has_years());
}

/// Returns the labels that follow the last one, in the same format.
Texts continued(const Texts& texts, DateFormat format, Index count = 2) {
  std::vector<Moment> moments;
  for (const std::string& text : texts)
    if (const auto moment = parse_date(text, format)) moments.push_back(*moment);
  if (moments.size() != texts.size()) return {"not read"};
  const auto index = TimeIndex::of_dates(moments, DateStyle::of_cells(texts, format));
  if (!index) return {"no step"};
  Texts result;
  for (Index t = 0; t < count; ++t) result.push_back(index->label(static_cast<Index>(texts.size()) + t));
  return result;
}

TEST(DateStyle, FurtherDatesAreWrittenLikeTheOthers) {
  using F = DateFormat;
  EXPECT_EQ(continued({"2024/11/01", "2024/12/01", "2025/01/01"}, F::year_month_day),
            (Texts{"2025/02/01", "2025/03/01"}));
  EXPECT_EQ(continued({"30.12.2023", "31.12.2023", "01.01.2024"}, F::day_month_year),
            (Texts{"02.01.2024", "03.01.2024"}));
  EXPECT_EQ(continued({"8/1/2024", "9/1/2024", "10/1/2024"}, F::day_month_year), (Texts{"11/1/2024", "12/1/2024"}));
  EXPECT_EQ(continued({"1/8/2024", "1/9/2024", "1/10/2024"}, F::month_day_year), (Texts{"1/11/2024", "1/12/2024"}));
  EXPECT_EQ(continued({"01/05/2024", "02/05/2024", "03/05/2024"}, F::day_month_year),
            (Texts{"04/05/2024", "05/05/2024"}));
  EXPECT_EQ(continued({"12/29/23", "12/30/23", "12/31/23"}, F::month_day_year), (Texts{"01/01/24", "01/02/24"}));
  EXPECT_EQ(continued({"Oct 2023", "Nov 2023", "Dec 2023"}, F::month_name), (Texts{"Jan 2024", "Feb 2024"}));
  EXPECT_EQ(continued({"OCT-2023", "NOV-2023", "DEC-2023"}, F::month_name), (Texts{"JAN-2024", "FEB-2024"}));
  EXPECT_EQ(continued({"1 march 2024", "1 april 2024", "1 may 2024"}, F::month_name),
            (Texts{"1 june 2024", "1 july 2024"}));
  EXPECT_EQ(continued({"30-Dec-2023", "31-Dec-2023", "01-Jan-2024"}, F::month_name),
            (Texts{"02-Jan-2024", "03-Jan-2024"}));
  EXPECT_EQ(continued({"Mon, 1 Jan 2024", "Tue, 2 Jan 2024", "Wed, 3 Jan 2024"}, F::month_name),
            (Texts{"Thu, 4 Jan 2024", "Fri, 5 Jan 2024"}));
  EXPECT_EQ(continued({"2023Q3", "2023Q4", "2024Q1"}, F::quarter), (Texts{"2024Q2", "2024Q3"}));
  EXPECT_EQ(continued({"Q3 2023", "Q4 2023", "Q1 2024"}, F::quarter), (Texts{"Q2 2024", "Q3 2024"}));
  EXPECT_EQ(continued({"2020-W52", "2020-W53", "2021-W01"}, F::week), (Texts{"2021-W02", "2021-W03"}));
  EXPECT_EQ(continued({"2024 W50", "2024 W51", "2024 W52"}, F::week), (Texts{"2025 W01", "2025 W02"}));
  EXPECT_EQ(continued({"2023-10", "2023-11", "2023-12"}, F::year_month), (Texts{"2024-01", "2024-02"}));
  EXPECT_EQ(continued({"2023/10", "2023/11", "2023/12"}, F::year_month), (Texts{"2024/01", "2024/02"}));
  EXPECT_EQ(continued({"20231230", "20231231", "20240101"}, F::compact), (Texts{"20240102", "20240103"}));
  EXPECT_EQ(continued({"1706659200", "1706662800", "1706666400"}, F::unix_seconds),
            (Texts{"1706670000", "1706673600"}));
}

TEST(DateStyle, LanguagesAreKept) {
  using F = DateFormat;
  EXPECT_EQ(continued({"29. September 2023", "30. September 2023", "01. Oktober 2023"}, F::month_name, 1),
            (Texts{"02. Oktober 2023"}));
  EXPECT_EQ(continued({"27 FÉVRIER 2023", "28 FÉVRIER 2023", "01 MARS 2023"}, F::month_name, 1),
            (Texts{"02 MARS 2023"}));
  EXPECT_EQ(continued({"Jan 2023", "Feb 2023", "Mrz 2023"}, F::month_name, 2), (Texts{"Apr 2023", "Mai 2023"}));
  EXPECT_EQ(continued({"So 03.09.2023", "Mo 04.09.2023", "Di 05.09.2023"}, F::day_month_year, 1),
            (Texts{"Mi 06.09.2023"}));
  EXPECT_EQ(
      continued({"lundi 4 septembre 2023", "mardi 5 septembre 2023", "mercredi 6 septembre 2023"}, F::month_name, 1),
      (Texts{"jeudi 7 septembre 2023"}));
  EXPECT_EQ(continued({"8.8.23", "9.8.23", "10.8.23"}, F::day_month_year, 1), (Texts{"11.8.23"}));
}

TEST(DateStyle, TimesOfDayAndZonesAreKept) {
  using F = DateFormat;
  EXPECT_EQ(continued({"2024-01-01T21:00:00Z", "2024-01-01T22:00:00Z", "2024-01-01T23:00:00Z"}, F::year_month_day),
            (Texts{"2024-01-02T00:00:00Z", "2024-01-02T01:00:00Z"}));
  EXPECT_EQ(continued({"2024-01-01T21:00:00+02:00", "2024-01-01T22:00:00+02:00", "2024-01-01T23:00:00+02:00"},
                      F::year_month_day),
            (Texts{"2024-01-02T00:00:00+02:00", "2024-01-02T01:00:00+02:00"}));
  EXPECT_EQ(continued({"2024-01-01 00:00:00", "2024-01-02 00:00:00", "2024-01-03 00:00:00"}, F::year_month_day),
            (Texts{"2024-01-04 00:00:00", "2024-01-05 00:00:00"}));
  EXPECT_EQ(continued({"2024-01-01 22:00:00.000 UTC", "2024-01-01 23:00:00.000 UTC", "2024-01-02 00:00:00.000 UTC"},
                      F::year_month_day, 1),
            (Texts{"2024-01-02 01:00:00.000 UTC"}));
  EXPECT_EQ(continued({"1/1/2024 9:00 AM", "1/1/2024 10:00 AM", "1/1/2024 11:00 AM"}, F::month_day_year),
            (Texts{"1/1/2024 12:00 PM", "1/1/2024 1:00 PM"}));
  EXPECT_EQ(continued({"21:30", "22:00", "22:30"}, F::time_of_day), (Texts{"23:00", "23:30"}));
}

/// Cells that differ in style are written in the standard one.
TEST(DateStyle, MixedCellsHaveTheStandardStyle) {
  EXPECT_EQ(continued({"2024-01-01", "2024/01/02", "2024-01-03"}, DateFormat::year_month_day, 1),
            (Texts{"2024-01-04"}));
  EXPECT_EQ(DateStyle::of_cells({}, DateFormat::year).write(day(0)), "1970");
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
      continue;  // integers, which parse_date does not parse in cells, and times without a date
    const Moment moment = day(days_from_civil(2024, 4, 1));
    const auto read = parse_date(format_moment(moment, format), format);
    ASSERT_TRUE(read.has_value()) << date_pattern(format);
    EXPECT_EQ(read->days, moment.days) << date_pattern(format);
  }
}

}  // namespace
}  // namespace unfold::forecasting
