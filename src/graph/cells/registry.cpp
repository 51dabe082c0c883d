#include "graph/cells/registry.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/error.h"
#include "graph/cells/register_cell.h"

namespace unfold {

#define UNFOLD_CELL(entry) CellEntry entry();
#include "graph/cells/registry.def"
#undef UNFOLD_CELL

namespace {

std::vector<CellEntry> all_cells() {
  return {
#define UNFOLD_CELL(entry) entry(),
#include "graph/cells/registry.def"
#undef UNFOLD_CELL
  };
}

/// The initial list, and a new copy after each registration: models keep pointers to entries of earlier ones.
struct Lists {
  std::mutex mutex;
  std::deque<Registry<CellEntry>> all;
};

Registry<CellEntry> list_of(std::vector<CellEntry> entries) { return {"model", std::move(entries)}; }

Lists& lists() {
  static Lists known;
  const std::lock_guard lock(known.mutex);
  if (known.all.empty()) known.all.push_back(list_of(all_cells()));
  return known;
}

bool is_name(std::string_view name) {
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && small(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return small(c) || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

const Registry<CellEntry>& cells() {
  Lists& known = lists();
  const std::lock_guard lock(known.mutex);
  return known.all.back();
}

void register_cell(CellEntry entry) {
  if (!is_name(entry.name))
    throw UsageError("register_cell: \"" + entry.name +
                     "\" is not a valid cell name; use lowercase letters, digits and \"-\", starting with a letter");
  Lists& known = lists();
  const std::lock_guard lock(known.mutex);
  if (known.all.back().find(entry.name) != nullptr)
    throw UsageError("register_cell: there is already a cell \"" + entry.name + "\"; choose a different name");
  if (entry.name.starts_with("bi") && known.all.back().find(entry.name.substr(2)) != nullptr)
    throw UsageError("register_cell: \"" + entry.name + "\" is the cell \"" + entry.name.substr(2) +
                     "\" in both directions; choose a different name");
  std::vector<CellEntry> entries(known.all.back().begin(), known.all.back().end());
  entries.push_back(std::move(entry));
  known.all.push_back(list_of(std::move(entries)));
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
