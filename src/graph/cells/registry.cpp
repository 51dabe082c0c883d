#include "unfold/graph/cells/registry.h"

#include <utility>

#include "base/options/extensible_registry.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/register_cell.h"

namespace unfold {

#define UNFOLD_CELL(entry) CellEntry entry();
#include "graph/cells/registry.def"
#undef UNFOLD_CELL

namespace {

ExtensibleRegistry<CellEntry>& registry() {
  static ExtensibleRegistry<CellEntry> all("model", {
#define UNFOLD_CELL(entry) entry(),
#include "graph/cells/registry.def"
#undef UNFOLD_CELL
                                                    });
  return all;
}

}  // namespace

const Registry<CellEntry>& cells() { return registry().current(); }

void register_cell(CellEntry entry) {
  if (entry.name.starts_with("bi") && cells().find(entry.name.substr(2)) != nullptr &&
      cells().find(entry.name) == nullptr)
    throw UsageError("register_cell: \"" + entry.name + "\" is the cell \"" + entry.name.substr(2) +
                     "\" in both directions; choose a different name");
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

}  // namespace unfold
