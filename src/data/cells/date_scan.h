#pragma once
/// The general scanner of dates: any order of the parts, names of months and weekdays, times of day and zones.
/// `scan_date` (date_cell.h) tries the usual form YYYY-MM-DD first.

#include <string_view>

#include "data/cells/date_cell.h"

namespace unfold {

inline bool is_date_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// REQUIRES: the text has at least four characters. Returns the shape `none` for other texts than dates.
DateScan scan_written_date(std::string_view text);

}  // namespace unfold
