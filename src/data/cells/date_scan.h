#pragma once
/// The general scanner of dates: any order of the parts, names of months and weekdays (date_names.h), times of day and
/// zones. `scan_date` (date_cell.h) tries the usual form YYYY-MM-DD first.

#include <string_view>

#include "data/cells/date_cell.h"

namespace unfold {

inline bool is_date_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// REQUIRES: the text has at least four characters. Returns the shape `none` for other texts than dates.
DateScan scan_written_date(std::string_view text);
/// Reads 4.9.23 and 01.2016, which `scan_date` does not because they may be a version and a number; the name, the type
/// or the other cells of the column must indicate dates.
DateScan scan_short_date(std::string_view text);
/// Returns whether a column of this format can also have dates such as 2024-01-31: DD/MM/YYYY and MM/DD/YYYY, because
/// no cell can be read in both ways.
bool also_reads_year_first(DateFormat format);

}  // namespace unfold
