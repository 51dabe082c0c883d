#include "unfold/graph/cells/registry.h"

#include <utility>
#include <vector>

#include "base/options/extensible_registry.h"
#include "graph/cells/built_in.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/register_cell.h"

namespace unfold {

#define UNFOLD_CELL(entry) CellEntry entry();
#include "graph/cells/registry.def"
#undef UNFOLD_CELL

namespace {

std::vector<CellEntry> built_in_cells() {
  return {
#define UNFOLD_CELL(entry) entry(),
#include "graph/cells/registry.def"
#undef UNFOLD_CELL
  };
}

ExtensibleRegistry<CellEntry>& registry() {
  static ExtensibleRegistry<CellEntry> all("model", built_in_cells());
  return all;
}

}  // namespace

const Registry<CellEntry>& cells() { return registry().current(); }

bool is_built_in_cell(std::string_view name) {
  static const Registry<CellEntry> list("model", built_in_cells());
  return list.find(name) != nullptr;
}

void register_cell(CellEntry entry) {
  if (entry.name.starts_with("bi") && cells().find(entry.name.substr(2)) != nullptr &&
      cells().find(entry.name) == nullptr)
    throw UsageError("register_cell: \"" + entry.name + "\" is the cell \"" + entry.name.substr(2) +
                     "\" in both directions; choose a different name");
  entry.add = [add = std::move(entry.add), name = entry.name](Circuit& c, Signal x, Index units,
                                                              const AnyOptions& options, bool trained_initial) {
    const Signal h = add(c, x, units, options, trained_initial);
    if (h.circuit != &c)
      throw UsageError("cell " + name + ": the function must return a signal of the circuit that it receives");
    if (h.size() != units)
      throw UsageError("cell " + name + ": the function returned a signal of size " + std::to_string(h.size()) +
                       " for " + std::to_string(units) + " units; the output must have one component per unit");
    return h;
  };
  registry().add("register_cell", "cell", std::move(entry));
}

void register_cell(std::string name, CellFunction add, std::string help) {
  if (!add) throw UsageError("register_cell: \"" + name + "\" has no function that adds it to a circuit");
  CellEntry entry = CellOf<NoOptions>{.name = std::move(name), .help = std::move(help), .add = nullptr};
  entry.add = [add = std::move(add)](Circuit& c, Signal x, Index units, const AnyOptions&, bool) {
    return add(c, x, units);
  };
  register_cell(std::move(entry));
}

bool StackOptions::needs_layers() const {
  const StackOptions plain;
  return layers != plain.layers || residual != plain.residual || dropout > 0 || embedding > 0 || both_directions ||
         trained_initial || direct > 0 || variational || dropouti > 0 || dropouth > 0 || dropoute > 0 || wdrop > 0 ||
         tied || pool != plain.pool || attention != plain.attention || condition != plain.condition;
}

}  // namespace unfold
