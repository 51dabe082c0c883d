#pragma once
/// Times that are integers without a date, such as years in a column "period" or steps in a column "t", for tables
/// whose rows are in any order.

#include <optional>
#include <string>
#include <vector>

#include "app/forecast/series_roles.h"

namespace unfold {

struct CountedTimes {
  std::size_t order = SeriesRoles::kNone;
  std::size_t group = SeriesRoles::kNone;  ///< the column that identifies the series; kNone: there is one series
  std::string note = {};
};

/// Finds a column of integers that is named like a time and has different values within each series, at least half of
/// the values between the least and the largest. `groups`: the columns that identify the series; if empty, a column of
/// categories or identifiers may. If times repeat although such a column exists, `order` is kNone, and the note says
/// that the rows are one series. Returns std::nullopt if no column is named like a time.
std::optional<CountedTimes> find_counted_times(const ReaderText& text, const TableSchema& schema,
                                               const SchemaOptions& options, const std::vector<std::size_t>& groups);

}  // namespace unfold
