#include "data/cells/date_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace unfold {
namespace {

constexpr double kRegularShare = 0.9;
constexpr Index kLeastWeeks = 2;  // number of weeks after which the weekdays of the dates can be recognized

std::string step_name(bool months, Index amount) {
  struct Named {
    bool months;
    Index amount;
    const char* name;
  };
  constexpr std::array<Named, 8> kNamed = {{{false, 1, "every second"},
                                            {false, 60, "every minute"},
                                            {false, 3600, "hourly"},
                                            {false, 86400, "daily"},
                                            {false, 604800, "weekly"},
                                            {true, 1, "monthly"},
                                            {true, 3, "quarterly"},
                                            {true, 12, "yearly"}}};
  for (const Named& named : kNamed) {
    if (named.months == months && named.amount == amount) return named.name;
  }
  if (months)
    return amount % 12 == 0 ? fmt::format("every {} years", amount / 12) : fmt::format("every {} months", amount);
  for (const auto& [length, name] :
       {std::pair<Index, const char*>{604800, "weeks"}, {86400, "days"}, {3600, "hours"}, {60, "minutes"}}) {
    if (amount % length == 0) return fmt::format("every {} {}", amount / length, name);
  }
  return fmt::format("every {} seconds", amount);
}

/// Returns the smaller one of the open and the closed days: "every day except Sunday", "every Monday and Thursday".
std::string weekdays_name(Weekdays weekdays) {
  constexpr std::array<const char*, 7> kNames = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                 "Friday", "Saturday", "Sunday"};
  if (weekdays == kMondayToFriday) return "working days";
  const bool open = 2 * weekday_count(weekdays) < 7;
  std::vector<std::string> names;
  for (Index day = 0; day < 7; ++day)
    if (has_weekday(weekdays, day) == open) names.emplace_back(kNames[static_cast<std::size_t>(day)]);
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("every {}{}{}{}", open ? "" : "day except ", fmt::join(names, ", "), names.empty() ? "" : " and ",
                     last);
}

}  // namespace

Index weekday_of(Index days) {
  const Index day = (days + 3) % 7;
  return day < 0 ? day + 7 : day;
}

void StepTracker::count(bool months, Index amount) {
  for (Difference& difference : differences_) {
    if (difference.count > 0 && (difference.months != months || difference.amount != amount)) continue;
    difference.months = months;
    difference.amount = amount;
    ++difference.count;
    return;
  }
  ++others_;
}

void StepTracker::add(const Moment& moment) {
  const Index seconds = moment.epoch_seconds();
  const CivilDate civil = moment.days == days_ && dates_ > 0 ? civil_ : civil_from_days(moment.days);
  if (dates_ > 0) {
    const bool equal = seconds == seconds_ && moment.nanosecond == nanosecond_;
    const bool later = seconds > seconds_ || (seconds == seconds_ && moment.nanosecond > nanosecond_);
    if (equal) {
      ++equals_;
    } else if (!later) {
      ++descents_;
    } else {
      ++increases_;
      const Index months = (civil.year - civil_.year) * 12 + civil.month - civil_.month;
      const bool ends =
          civil.day == days_in_month(civil.year, civil.month) && civil_.day == days_in_month(civil_.year, civil_.month);
      if (months > 0 && moment.second == day_seconds_ && (civil.day == civil_.day || ends)) {
        count(true, months);
      } else {
        count(false, seconds - seconds_);
      }
      const Index days = moment.days - days_;
      if (days >= 1 && days <= 7 && moment.second == day_seconds_)
        ++whole_days_[static_cast<std::size_t>(weekday_of(days_))][static_cast<std::size_t>(days - 1)];
    }
  }
  ++weekdays_[static_cast<std::size_t>(weekday_of(moment.days))];
  earliest_ = dates_ == 0 ? seconds : std::min(earliest_, seconds);
  latest_ = dates_ == 0 ? seconds : std::max(latest_, seconds);
  ++dates_;
  seconds_ = seconds;
  nanosecond_ = moment.nanosecond;
  day_seconds_ = moment.second;
  days_ = moment.days;
  civil_ = civil;
}

DateStep StepTracker::step() const {
  DateStep step;
  step.descents = descents_;
  step.earliest = earliest_;
  step.latest = latest_;
  if (dates_ < 2) return step;
  step.order = descents_ == 0    ? (increases_ > 0 ? DateStep::Order::ascending : DateStep::Order::none)
               : increases_ == 0 ? DateStep::Order::descending
                                 : DateStep::Order::unsorted;
  if (increases_ < 2) return step;
  const auto most = std::max_element(differences_.begin(), differences_.end(),
                                     [](const Difference& a, const Difference& b) { return a.count < b.count; });
  step.exceptions = increases_ - most->count;
  const auto share = [&](Index n) { return static_cast<double>(n) / static_cast<double>(increases_); };
  const auto days = [&](Index n) {
    const auto found = std::find_if(differences_.begin(), differences_.end(), [&](const Difference& d) {
      return d.count > 0 && !d.months && d.amount == n * 86400;
    });
    return found == differences_.end() ? Index{0} : found->count;
  };
  if (share(most->count) >= kRegularShare && (most->months || most->amount > 0)) {
    step.regular = true;
    step.months = most->months ? most->amount : 0;
    step.seconds = most->months ? 0 : most->amount;
    step.name = step_name(most->months, most->amount);
    return step;
  }
  const Weekdays weekdays = usual_weekdays();
  if (weekdays == 0) return step;
  if ((weekdays & ~kMondayToFriday) == 0 && days(3) > 0 && share(days(1)) >= 0.6 &&
      share(days(1) + days(3)) >= kRegularShare) {
    step = with_weekdays(std::move(step), kMondayToFriday);
    step.exceptions = increases_ - days(1) - days(3);
  } else if (increases_ + 1 >= kLeastWeeks * weekday_count(weekdays) && share(consecutive(weekdays)) >= kRegularShare) {
    step = with_weekdays(std::move(step), weekdays);
  }
  return step;
}

/// Returns the weekdays of the dates without rare ones, such as the Sundays before Christmas; 0 if these are all seven
/// days or only one.
Weekdays StepTracker::usual_weekdays() const {
  constexpr Index kRare = 10;
  const Index most = *std::ranges::max_element(weekdays_);
  Weekdays weekdays = 0;
  for (std::size_t day = 0; day < weekdays_.size(); ++day)
    if (kRare * weekdays_[day] >= most) weekdays |= 1U << day;
  const Index count = weekday_count(weekdays);
  return count >= 2 && count <= 6 ? weekdays : 0;
}

/// Returns the number of differences between consecutive days with these weekdays.
Index StepTracker::consecutive(Weekdays weekdays) const {
  Index sum = 0;
  for (std::size_t day = 0; day < 7; ++day) {
    std::size_t days = 1;
    while (!has_weekday(weekdays, static_cast<Index>((day + days) % 7))) ++days;
    if (has_weekday(weekdays, static_cast<Index>(day))) sum += whole_days_[day][days - 1];
  }
  return sum;
}

DateStep StepTracker::with_weekdays(DateStep step, Weekdays weekdays) const {
  step.regular = true;
  step.seconds = 86400;
  step.weekdays = weekdays;
  step.name = weekdays_name(weekdays);
  step.exceptions = increases_ - consecutive(weekdays);
  return step;
}

}  // namespace unfold
