#pragma once
/// What each column of a table is used for: read, predicted, group, order or left out, with the reason.
///
/// | role | rule without options |
/// | --- | --- |
/// | left out | constants, empty columns, identifiers that are not the group; text columns other than the one that
///          is read, and text in the rows of a series |
/// | group | the first column named like an entity that repeats (user_id, station, ...), whose values repeat
///           twice or more on average; without an order, only a name like user_id and three times |
/// | order | the first date column (a time of day only if there is no other); else an ascending column named t,
///           time, step, ...; else a column of integers that increases by the same step within each value of
///           another column, which is then the group (panel_positions.h) |
/// | predicted | a column named like a class (label, class, target, y, ...); in event tables the category; else a
///           column named value; else the last numeric or categorical column, but not the order; else the text |
/// | read | all others |
///
/// Event tables have a group, an order and a category, and no numbers or a category named event, action, page, ...
/// A table with a text has one example per row, without group and order, unless its dates are regular and a number is
/// predicted: then it is a series.

#include <vector>

#include "data/schema/inference/panel_positions.h"
#include "data/schema/inference/residual_dependence.h"
#include "data/schema/table_schema.h"

namespace unfold {

/// Sets the roles of all columns and `events`. `positions`: columns that count the rows of each series. `serial`: for
/// each column, whether it certainly depends on the preceding rows (serial_dependence.h, `strictly`). `residuals`: of
/// the first rows. REQUIRES: the options name existing columns.
void assign_roles(TableSchema& schema, const SchemaOptions& options, const std::vector<PanelPositions::Pair>& positions,
                  const std::vector<bool>& serial, const ResidualDependence& residuals);

}  // namespace unfold
