#include "unfold/app/path_units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/numerics/pointwise.h"

namespace unfold {
namespace {

/// The units of a circuit that have no path reading.
std::vector<std::string> units_without_paths(const Circuit& circuit) {
  std::vector<std::string> names;
  for (const Map unit : std::array{Map::tanh, Map::sigmoid, Map::softplus})
    for (const Node& node : circuit.nodes()) {
      if (node.kind != Node::Kind::map || node.map != unit) continue;
      names.emplace_back(map_info(unit).name);
      break;
    }
  return names;
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
    throw UsageError(
        fmt::format("--optimizer {} needs ReLU units; {} uses {}; try --model rnn:{},activation=relu,init=identity, or "
                    "--optimizer adam",
                    name, model.cell->name, fmt::join(names, ", "), model.units));
  }
}

}  // namespace unfold
