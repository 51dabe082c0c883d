#pragma once
/// All cells there are, by the names that model SPECs use: `cells().get("lstm")`.

#include "unfold/cells/cell.h"

namespace unfold {

/// The explicit list: registry.def, a line for each cell.
const Registry<CellEntry>& cells();

}  // namespace unfold
