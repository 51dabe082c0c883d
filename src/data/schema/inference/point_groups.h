#pragma once
/// Decides whether the point of cells such as 1.234 is a decimal point or separates thousands.
///
/// The question arises only in a table without any other decimal mark. Evidence for thousands: a cell such as
/// 1.234.567; or all other numbers of the column are integers below 1000, and the table is written in a style that does
/// not use decimal points (semicolons between cells, dates such as 31.12.2024).

#include <vector>

#include "data/schema/inference/column_profile.h"

namespace unfold {

enum class PointReading {
  decimal,   ///< a decimal point
  doubtful,  ///< read as a decimal point, but it may separate thousands
  thousands
};

/// Returns the reading for all columns of a table in a file.
PointReading read_points(const std::vector<ColumnProfile>& profiles, char separator);

/// Returns the notes on the columns that contain such cells and whose reading is not certain; empty for
/// PointReading::decimal. `columns`: the schemas of the profiles. Columns whose convention an option or a model states
/// are not named.
std::vector<std::string> point_notes(PointReading reading, const std::vector<ColumnProfile>& profiles,
                                     const std::vector<ColumnSchema>& columns, const SchemaOptions& options);

}  // namespace unfold
