#pragma once
/// User-defined cells. A cell is a function that adds a step to a circuit; it is registered under a name, which model
/// SPECs and model files use.
///
///   Signal gated(Circuit& c, Signal x, Index n) { ... }
///   int main() {
///     register_cell("gated", gated);
///     LanguageModel<float> model("gated:64,layers=2", alphabet);   // train, check, save, sample: as with any cell
///   }
///
/// A model file contains the name and the circuits that the function built, as data: other programs, including the
/// command, load the model without the function. If a circuit contains an operator that the program defines itself, the
/// file contains only the name, and every program that loads the model must register the function under the same name.

#include <functional>
#include <string>

#include "unfold/graph/cells/cell.h"

namespace unfold {

/// x [m] -> h [units].
using CellFunction = std::function<Signal(Circuit&, Signal x, Index units)>;

/// Adds a cell to `cells()`. Call it before models are created or loaded. Throws UsageError if the name is taken, does
/// not begin with a letter, or contains anything but lowercase letters, digits and "-".
void register_cell(std::string name, CellFunction add, std::string help = "user-defined cell");
/// Registers a cell with its own options (cell.h).
void register_cell(CellEntry entry);

}  // namespace unfold
