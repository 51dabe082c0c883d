#pragma once
/// Models whose cell is not built in, and their files: the SPEC holds the circuits of the cell
/// (model/stored_cell/stored_cell.h), and the card contains them.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "unfold/model/network/spec.h"

namespace unfold {

class StoredCell;

/// Parses the SPEC of a model with a stored cell, like parse_model_spec. Throws UsageError if the SPEC is invalid or
/// names a different cell.
ModelSpec parse_stored_spec(std::string_view text, std::shared_ptr<const StoredCell> cell);

/// Adds the circuits to the card of a model. If a circuit contains an operator that the program defines, adds only the
/// reason why it cannot be stored. Does nothing for a model with a built-in cell.
void add_cell_to_card(const ModelSpec& spec, nlohmann::json& card);

}  // namespace unfold
