#pragma once
/// The circuits of a cell that a program has registered. Model files contain these circuits, so a program without the
/// function of the cell can load the model:
///
///   auto cell = StoredCell::record(entry, [&](const auto& recording) { ... build the network with its entry ... });
///   const nlohmann::json json = cell->to_json({});
///   ...
///   auto same = StoredCell::from_json(json);
///   Signal y = same->entry().add(c, x, units, same->entry().options, false);
///
/// The function is called once for every combination of input, units and `trained_initial` in the network; from then
/// on, the entry adds copies of the circuits. Circuits in a file are untrusted data (circuit_json.h).

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "graph/stored/circuit_data.h"
#include "unfold/graph/cells/cell.h"

namespace unfold {

class StoredCell {
 public:
  StoredCell() = default;
  StoredCell(const StoredCell&) = delete;  // the entry refers to this object
  StoredCell& operator=(const StoredCell&) = delete;

  /// Records the circuits that `build` adds with the entry that it receives. The result has the same entry. Throws
  /// UsageError for a function that returns a signal of another circuit, and any exception of `build`.
  static std::shared_ptr<const StoredCell> record(
      const CellEntry& entry, const std::function<void(const std::shared_ptr<const StoredCell>&)>& build);

  /// Valid during the lifetime of this object. The options of the entry are StoredOptions.
  const CellEntry& entry() const { return entry_; }
  /// Writes and reads the value of the card. `options`: the names of options of the cell that the SPEC contains. Throws
  /// UsageError like circuit_json.h.
  nlohmann::json to_json(const std::vector<std::string>& options) const;
  static std::shared_ptr<const StoredCell> from_json(const nlohmann::json& json);

 private:
  /// A circuit for one combination of arguments; its inputs are the parts of the input of the cell.
  struct Made {
    Index units;
    bool trained_initial;
    CircuitData circuit;
    int output;
  };
  void wrap_options(const CellEntry& entry);
  const Made* find(const Circuit& c, const std::vector<Signal>& inputs, Index units, bool trained_initial) const;
  Signal add(Circuit& c, Signal x, Index units, bool trained_initial) const;
  void add_copies();

  CellEntry entry_;
  std::vector<Made> made_;
};

/// The options of the entry of a stored cell: the options of the cell and the owner of the entry, so a SPEC keeps the
/// entry alive.
struct StoredOptions {
  AnyOptions own = {};
  std::shared_ptr<const StoredCell> cell = nullptr;  ///< null in the defaults of the entry
};
inline void describe(OptionTable& table, StoredOptions& options) { describe(table, options.own); }

/// Returns the cell that the options of a SPEC keep, or null.
std::shared_ptr<const StoredCell> stored_cell_of(const AnyOptions& options);

}  // namespace unfold
