#include "app/train/setup/path_units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "unfold/base/error.h"
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

/// Returns why no circuit for this data can have a path reading, regardless of its units; empty if it may have one.
std::string chains_without_paths(const Circuit& circuit, const ModelSpec& model) {
  if (model.cell->reads_trees()) return fmt::format("{} runs over trees", model.cell->name);
  if (model.cell->reads_grids()) return fmt::format("{} runs over grids", model.cell->name);
  const bool pairs = std::ranges::any_of(circuit.nodes(), [](const Node& node) { return node.part > 0; });
  return pairs ? "a source and a target are two sequences" : "";
}

/// Returns whether the circuit pools the positions of a sequence by operations other than sums over paths.
bool pools_without_paths(const Circuit& circuit) {
  return std::ranges::any_of(circuit.nodes(), [](const Node& node) {
    return node.kind() == Node::Kind::pointwise && node.name.starts_with("pool/") &&
           !map_info(node.pointwise().map).homogeneous;
  });
}

}  // namespace

void require_path_units(const Circuit& circuit, const ModelSpec& model, std::string_view optimizer) {
  const std::string_view name = spec_name(optimizer);
  if (name != "path" && !name.starts_with("path+")) return;
  if (const std::string why = chains_without_paths(circuit, model); !why.empty())
    throw UsageError(
        fmt::format("--optimizer {} supports only paths along one sequence, but {}; use --optimizer adam", name, why));
  try {
    Circuit squared;
    path_reading(circuit, squared);
  } catch (const UsageError&) {
    const std::vector<std::string> names = units_without_paths(circuit);
    const bool pools = pools_without_paths(circuit);
    if (names.empty() && !pools) throw;
    throw UsageError(
        fmt::format("--optimizer {} needs {}; {}; try --model rnn:{},activation=relu,init=identity{}, or "
                    "--optimizer adam",
                    name, pools ? "ReLU units and pool=last" : "ReLU units",
                    names.empty() ? "this model pools all positions"
                                  : fmt::format("{} uses {}", model.cell->name, fmt::join(names, ", ")),
                    model.units, pools ? ",pool=last" : ""));
  }
}

}  // namespace unfold
