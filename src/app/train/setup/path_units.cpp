#include "app/train/setup/path_units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/data/text/batch.h"
#include "unfold/numerics/pointwise.h"

namespace unfold {
namespace {

/// Returns the units of a circuit that have no path reading.
std::vector<std::string> units_without_paths(const Circuit& circuit) {
  std::vector<std::string> names;
  for (const Map unit : std::array{Map::tanh, Map::sigmoid, Map::softplus})
    for (const Node& node : circuit.nodes()) {
      if (node.kind() != Node::Kind::pointwise || node.pointwise().map != unit) continue;
      names.emplace_back(map_info(unit).name);
      break;
    }
  return names;
}

/// Returns a model for the same data whose units have a path reading.
std::string homogeneous_model(const Circuit& circuit, const ModelSpec& model) {
  if (model.cell->reads_trees()) return fmt::format("recursive:{},activation=relu", model.units);
  if (model.cell->reads_grids()) return fmt::format("grid-rnn:{},activation=relu", model.units);
  const bool source = std::ranges::any_of(circuit.nodes(), [](const Node& node) { return node.part >= kSourcePart; });
  return fmt::format("rnn:{},activation=relu,init=identity{}", model.units, source ? ",summary=relu" : "");
}

}  // namespace

void require_path_units(const Circuit& circuit, const ModelSpec& model, std::string_view optimizer) {
  const std::string_view name = spec_name(optimizer);
  if (name != "path" && !name.starts_with("path+")) return;
  try {
    Circuit squared;
    path_reading(circuit, squared);
  } catch (const UsageError&) {
    const std::vector<std::string> names = units_without_paths(circuit);
    if (names.empty()) throw;
    throw UsageError(fmt::format("--optimizer {} needs ReLU units; {} uses {}; try --model {}, or --optimizer adam",
                                 name, model.cell->name, fmt::join(names, ", "), homogeneous_model(circuit, model)));
  }
}

}  // namespace unfold
