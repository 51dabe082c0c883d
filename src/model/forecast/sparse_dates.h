#pragma once
/// Regular calendars of dates of which some are absent, such as days without the days on which nothing was recorded.

#include <span>
#include <vector>

#include "data/cells/date_cell.h"

namespace unfold::forecasting {

/// Returns the first dates of each regular calendar to which all dates belong. The calendars are, in this order:
/// * the days of the week that occur, if they do not include all seven days, each occurs three times on average, and
///   the other days are not absent by chance (7 p^n <= 0.05 for the n absent days of each other weekday, where p is the
///   share of absent dates among the days of the week that occur)
/// * multiples of the smallest difference, if that is the most frequent one
/// * the same for differences in months, if all dates are the same day of the month or its last day.
/// A calendar is left out if more than half of its dates between the first and the last date are absent. `dates` are
/// ascending and distinct.
std::vector<std::vector<Moment>> calendars_with_gaps(std::span<const Moment> dates);

}  // namespace unfold::forecasting
