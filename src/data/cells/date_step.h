#pragma once
/// The regular step of a series of dates: hourly, daily, working days, monthly.

#include <array>
#include <string>

#include "data/cells/civil_date.h"
#include "data/cells/date_cell.h"

namespace unfold {

/// The regular step of a column of dates.
struct DateStep {
  enum class Order { none, ascending, descending, unsorted };
  Order order = Order::none;
  Index descents = 0;    ///< number of dates that are earlier than the previous one
  bool regular = false;  ///< at least nine tenths of the differences between increasing neighbors are equal
  std::string
      name;  ///< "hourly", "daily", "working days", "weekly", "monthly", "quarterly", "yearly", "every 5 minutes"
  Index seconds = 0;  ///< length of the step; 0 if it is counted in months
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

  std::array<Difference, 16> differences_ = {};
  Index others_ = 0, increases_ = 0, equals_ = 0, descents_ = 0, dates_ = 0;
  Index earliest_ = 0, latest_ = 0;
  Index seconds_ = 0, nanosecond_ = 0, day_seconds_ = 0, days_ = 0;
  CivilDate civil_;
};

}  // namespace unfold
