#pragma once
/// Registry of all cells, by the names that model SPECs use: `cells().get("lstm")`.

#include "unfold/graph/cells/cell.h"

namespace unfold {

/// Returns the cells listed in registry.def and the cells added with register_cell.
const Registry<CellEntry>& cells();

}  // namespace unfold
