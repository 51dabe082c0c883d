#pragma once
/// Covariates of series whose future values are in a second table (`forecast --future FILE`).

#include <string>
#include <vector>

#include "app/forecast/series_table.h"

namespace unfold {

/// A table of series, and a table with the next values of its covariates.
struct TablesOfCovariates {
  SeriesTable table, future;
};

/// Reads both tables. Columns that both have are covariates if they are numbers or categories; those of `future` are
/// read like those of the data, and dates may be written differently. Throws DataError if a column of numbers or
/// categories of `future` is not in the data, if there are no covariates, or if `future` has no rows.
TablesOfCovariates read_with_future(const std::string& data, const std::string& future, const SchemaOptions& schema);

/// Removes the series of covariates from a table. Returns, for each series that is left, the covariates of its group:
/// the values of the table, followed by the values of `future` for the next `horizon` steps. These are found by their
/// time, or by their order if either table has no regular times. `table.notes` says which of them are empty. Throws
/// DataError with the names if a column of `future` is not in the table, or a group or time of the table is not in
/// `future`.
std::vector<std::vector<std::vector<double>>> take_known_covariates(SeriesTable& table, const SeriesTable& future,
                                                                    const std::string& future_name, Index horizon);

}  // namespace unfold
