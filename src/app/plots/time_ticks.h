#pragma once
/// Ticks of a time axis at round dates: the beginning of years, months, weeks, days or hours.

#include <functional>
#include <optional>
#include <vector>

#include "app/plots/plot.h"
#include "data/cells/date_cell.h"

namespace unfold {

/// Returns two to six ticks for the positions [first, last] of an axis, in the coarsest unit for which these suffice. A
/// tick is at the first position of a unit and has the label "2024", "2024-03", "2024-03-05", "2024-03-05 12:00" or
/// "2024-03-05 12:00:30". `moment_of` returns the date of a position, which ascends; std::nullopt if it is not known.
/// Empty if no unit has at least two ticks.
std::vector<AxisTick> time_ticks(Index first, Index last, const std::function<std::optional<Moment>(Index)>& moment_of);

}  // namespace unfold
