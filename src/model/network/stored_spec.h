#pragma once
/// Models whose cell is not built in, and their files: the SPEC keeps the circuits of the cell
/// (model/stored_cell/stored_cell.h), the card contains them.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "unfold/model/network/spec.h"

namespace unfold {

class StoredCell;

/// Parses the SPEC of a model with a stored cell, as parse_model_spec. Throws UsageError if the SPEC is invalid or
/// names another cell.
ModelSpec parse_stored_spec(std::string_view text, std::shared_ptr<const StoredCell> cell);

/// Adds the circuits to the card of a model. If one contains an operator of the program, only adds the reason why it
/// cannot be stored. Does nothing for a model with a built-in cell.
void add_cell_to_card(const ModelSpec& spec, nlohmann::json& card);

}  // namespace unfold
