#include "model/stored_cell/register_stored_cell.h"

#include <utility>

#include "unfold/graph/cells/register_cell.h"
#include "unfold/graph/cells/registry.h"

namespace unfold {

void register_stored_cell(const std::shared_ptr<const StoredCell>& cell) {
  if (cell == nullptr || cells().find(cell->entry().name) != nullptr) return;
  CellEntry entry = cell->entry();
  entry.add = [cell](Circuit& c, Signal x, Index units, const AnyOptions& options, bool trained_initial) {
    return cell->entry().add(c, x, units, options, trained_initial);
  };
  register_cell(std::move(entry));
}

}  // namespace unfold
