#pragma once
/// Registers the cell of a model that was read from a file, so that SPECs with this cell can be parsed:
///
///   register_stored_cell(stored_cell_of(model.spec().options));
///   const ModelSpec same = parse_model_spec(model.spec_text());

#include <memory>

#include "model/stored_cell/stored_cell.h"

namespace unfold {

/// Adds the cell to `cells()`. Does nothing for null, or if there is a cell of that name.
void register_stored_cell(const std::shared_ptr<const StoredCell>& cell);

}  // namespace unfold
