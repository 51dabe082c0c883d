#pragma once
/// The regular step of a series of dates: hourly, daily, every day except Sunday, monthly.

#include <array>
#include <bit>
#include <string>

#include "data/cells/civil_date.h"
#include "data/cells/date_cell.h"

namespace unfold {

/// A set of days of the week: bit 0 is Monday, bit 6 is Sunday.
using Weekdays = unsigned;
inline constexpr Weekdays kMondayToFriday = 0b0011111;

/// Returns the day of the week of a number of days since 1970-01-01, a Thursday; 0 for Monday.
Index weekday_of(Index days);
inline bool has_weekday(Weekdays weekdays, Index day) { return (weekdays >> day & 1U) != 0; }
inline Index weekday_count(Weekdays weekdays) { return std::popcount(weekdays); }

/// The regular step of a column of dates.
struct DateStep {
  enum class Order { none, ascending, descending, unsorted };
  Order order = Order::none;
  Index descents = 0;    ///< number of dates that are earlier than the previous one
  bool regular = false;  ///< at least nine tenths of the differences between increasing neighbors are equal
  /// "hourly", "daily", "working days", "every day except Sunday", "weekly", "monthly", "quarterly", "yearly", "every 5
  /// minutes"
  std::string name;
  Index seconds = 0;      ///< length of the step; 0 if it is counted in months
  Weekdays weekdays = 0;  ///< the dates are consecutive days with these weekdays; 0: weekdays do not matter
  Index months = 0;
  Index exceptions = 0;            ///< number of differences not equal to the step
  Index earliest = 0, latest = 0;  ///< earliest and latest date in seconds since 1970-01-01 00:00 UTC
};

/// Collects the differences between successive dates in constant memory.
class StepTracker {
 public:
  void add(const Moment& moment);
  DateStep step() const;

 private:
  struct Difference {
    bool months = false;
    Index amount = 0, count = 0;
  };
  void count(bool months, Index amount);
  Weekdays usual_weekdays() const;
  Index consecutive(Weekdays weekdays) const;
  DateStep with_weekdays(DateStep step, Weekdays weekdays) const;

  std::array<Difference, 16> differences_ = {};
  std::array<Index, 7> weekdays_ = {};                   ///< number of dates with each weekday
  std::array<std::array<Index, 7>, 7> whole_days_ = {};  ///< [weekday of the earlier date][difference in days - 1]
  Index others_ = 0, increases_ = 0, equals_ = 0, descents_ = 0, dates_ = 0;
  Index earliest_ = 0, latest_ = 0;
  Index seconds_ = 0, nanosecond_ = 0, day_seconds_ = 0, days_ = 0;
  CivilDate civil_;
};

}  // namespace unfold
