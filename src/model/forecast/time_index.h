#pragma once
/// The times of a series with a regular step: dates, numbers, or only positions.
///
///     const TimeIndex index = TimeIndex::of_dates(moments, DateFormat::year_month_day);
///     index.place(moment)    // the position of a date, 0 for the first
///     index.label(n + h)     // the date of a later position, written like the others
///
/// Steps of dates are seconds, days of the week on which a shop is open (Monday to Friday, every day except Sunday) or
/// calendar months. Monthly steps keep the day of the first date, or the last day of the month if all dates are last
/// days.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/cells/date_cell.h"
#include "data/cells/date_step.h"
#include "model/forecast/date_style.h"

namespace unfold::forecasting {

class TimeIndex {
 public:
  /// Creates positions without times, labeled from 1.
  TimeIndex() = default;
  /// `dates` are ascending and distinct; up to half of the dates of a calendar may be absent (sparse_dates.h). Returns
  /// std::nullopt if the dates do not have a regular step. The step of two dates is their difference.
  static std::optional<TimeIndex> of_dates(std::span<const Moment> dates, const DateStyle& style);
  /// Like of_dates, but continues the step from the last date; single dates may deviate from the step.
  static std::optional<TimeIndex> after(std::span<const Moment> dates, const DateStyle& style);
  /// Like of_dates, for numbers. Years with fractions, such as 1949.083 for February 1949, have steps of months,
  /// quarters or other equal parts of a year (`steps_of_year`), and may be rounded to two or more decimals.
  static std::optional<TimeIndex> of_numbers(std::span<const double> times);
  /// Returns an index with the same step that starts at a different time.
  TimeIndex starting_at(const Moment& first) const;
  TimeIndex starting_at(double first) const;

  bool has_times() const { return kind_ != Kind::positions; }
  /// Returns whether the times are years with fractions.
  bool has_years() const { return per_year_ > 0; }
  bool has_dates() const { return has_times() && kind_ != Kind::numbers; }
  /// Returns whether days of the week are left out.
  bool has_closed_days() const { return kind_ == Kind::open_days; }
  /// Returns the position of a time; std::nullopt if it is not at a multiple of the step.
  std::optional<Index> place(const Moment& moment) const;
  std::optional<Index> place(double time) const;
  Moment moment(Index position) const;  ///< REQUIRES: the times are dates
  std::string label(Index position) const;
  /// Returns the seasonal periods that the calendar suggests (series.h); empty without dates.
  std::vector<Index> calendar_periods() const;
  /// Returns the days of the first `count` positions as in UnivariateSeries::days (series.h); empty if the step is less
  /// than a day or more than two weeks.
  std::vector<Index> days(Index count) const;
  const std::string& step_name() const { return step_name_; }

 private:
  enum class Kind { positions, numbers, seconds, open_days, months };
  static std::optional<TimeIndex> with_step_of(std::span<const Moment> dates, const DateStyle& style);

  Kind kind_ = Kind::positions;
  DateStyle style_;
  Moment first_;
  bool month_end_ = false;
  Index amount_ = 1;       ///< seconds or months of a step
  Weekdays weekdays_ = 0;  ///< of open days
  double first_number_ = 0, number_step_ = 1;
  Index per_year_ = 0;  ///< steps of a year, if the numbers are years with fractions
  int decimals_ = -1;   ///< of years with fractions; -1: unknown
  std::string step_name_;
};

/// Returns the number of steps of a year, 2, 3, 4, 6 or 12, if numbers between two times at an approximate distance are
/// years with fractions; otherwise 0.
Index steps_of_year(double first, double last, double step);

/// Formats a moment in the format that `parse_date` reads, with the time of day if there is one.
std::string format_moment(const Moment& moment, DateFormat format);

}  // namespace unfold::forecasting
