#include "unfold/cells/registry.h"

namespace unfold {

#define UNFOLD_CELL(entry) CellEntry entry();
#include "unfold/cells/registry.def"
#undef UNFOLD_CELL

namespace {

std::vector<CellEntry> all_cells() {
  return {
#define UNFOLD_CELL(entry) entry(),
#include "unfold/cells/registry.def"
#undef UNFOLD_CELL
  };
}

}  // namespace

const Registry<CellEntry>& cells() {
  static const Registry<CellEntry> list("model", all_cells(), {"esn"});
  return list;
}

}  // namespace unfold
