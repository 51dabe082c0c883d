#pragma once
/// Numeric columns that a reader derives from a date column.
///
///   when.hour      sine and cosine of the time of day
///   when.weekday   seven numbers, 1 for the day of the week and 0 otherwise, Monday first
///   when.month     sine and cosine of the month of the year
///   when.gap       log(1 + seconds since the preceding row of the example); missing in its first row
///   when.trend     days since 1970-01-01

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/cells/date_cell.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

using MomentOfRow = std::function<std::optional<Moment>(Index row)>;  ///< nothing: the date is missing

/// `moment_of` is called once for each of the rows, in their order. `ends`: as Examples::ends; empty if each row is an
/// example. All columns are marked as derived.
std::vector<ExampleColumn> calendar_columns(const std::string& name, Index rows, const MomentOfRow& moment_of,
                                            std::span<const Index> ends);
/// Returns the suffixes of such columns: "hour", "weekday", "month", "gap", "trend".
std::span<const std::string_view> calendar_parts();

}  // namespace unfold
