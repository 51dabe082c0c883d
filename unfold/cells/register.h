#pragma once
/// Cells of a program: a function that adds a step to a circuit, under a name that model SPECs and model files use.
///
///   Signal gated(Circuit& c, Signal x, Index n) { ... }
///   int main() {
///     register_cell("gated", gated);
///     LanguageModel<float> model("gated:64,layers=2", alphabet);   // train, check, save, sample: as of every cell
///   }
///
/// A file of such a model holds the name and no code: a program that loads it registers the same function under the
/// same name first. Others, the command among them, refuse the file and say so.

#include <functional>
#include <string>

#include "unfold/cells/cell.h"

namespace unfold {

/// x [m] -> h [units].
using CellFunction = std::function<Signal(Circuit&, Signal x, Index units)>;

/// From now on `cells()` has it; call it before models are made or loaded. Throws UsageError for a name that a cell has
/// already, or that is not made of small letters, digits and "-" with a letter in front.
void register_cell(std::string name, CellFunction add, std::string help = "a cell of this program");
/// The same with options of its own (cell.h).
void register_cell(CellEntry entry);

}  // namespace unfold
