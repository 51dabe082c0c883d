#include "model/stored_cell/stored_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/options/extensible_registry.h"
#include "model/stored_cell/circuit_json.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"

namespace unfold {
namespace {

using Json = nlohmann::json;

constexpr int kCellVersion = 1;
/// Maximum number of nodes of a circuit to which stored cells were added; the time for a plan grows faster than this
/// number.
constexpr std::size_t kMostNodesOfAll = 8192;

/// The options of a cell that was read from a file; its circuits no longer depend on them.
struct NamedValues {
  std::vector<std::pair<std::string, std::string>> values;
};

void describe(OptionTable& table, NamedValues& options) {
  for (auto& [name, value] : options.values) table.add({.name = name, .target = &value, .help = "of a stored cell"});
}

/// Adds inputs with the sizes and types of the given signals to a new circuit.
std::vector<Signal> inputs_like(const Circuit& from, const std::vector<Signal>& given, Circuit& c) {
  std::vector<Signal> inputs;
  for (const Signal& x : given) {
    const std::string name = given.size() == 1 ? "x" : fmt::format("x{}", inputs.size() + 1);
    inputs.push_back(from.is_symbols(x) ? c.symbols(name, x.size()) : c.input(name, x.size()));
  }
  return inputs;
}

[[noreturn]] void fail(const std::string& what) { throw UsageError(fmt::format("the stored cell {}", what)); }

const Json& member(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) fail(fmt::format("has no \"{}\"", key));
  return json[key];
}

Index whole_member(const Json& json, const char* key, Index low, Index high) {
  const auto number = whole_number<Index>(member(json, key));
  if (!number || *number < low || *number > high)
    fail(fmt::format("has a \"{}\" that is not an integer from {} to {}", key, low, high));
  return *number;
}

bool flag_member(const Json& json, const char* key) {
  if (!member(json, key).is_boolean()) fail(fmt::format("has a \"{}\" that is not true or false", key));
  return json[key].get<bool>();
}

std::string text_member(const Json& json, const char* key) {
  if (!member(json, key).is_string()) fail(fmt::format("has a \"{}\" that is not a text", key));
  return json[key].get<std::string>();
}

NamedValues options_member(const Json& json) {
  constexpr std::size_t kMostOptions = 256;
  NamedValues result;
  const Json& options = member(json, "options");
  if (!options.is_array() || options.size() > kMostOptions) fail("has options that are not a short list");
  for (const Json& name : options) {
    if (!name.is_string()) fail("has an option that is not a text");
    require_entry_name("the stored cell", "option", name.get_ref<const std::string&>());
    result.values.emplace_back(name.get<std::string>(), "");
  }
  return result;
}

Json grid_json(const GridStack& grid) { return {{"directions", grid.directions}, {"patches", grid.patches}}; }

/// Like the function of the same name for the options of built-in cells.
std::string grid_fault(const StackOptions& stack, const GridStack& grid) {
  const bool patched = std::ranges::any_of(grid.patches, [](Index side) { return side > 1; });
  if (static_cast<Index>(grid.patches.size()) > stack.layers)
    return fmt::format("the stored cell has {} patches for {} layer{}; write layers={}", grid.patches.size(),
                       stack.layers, stack.layers == 1 ? "" : "s", grid.patches.size());
  if (grid.directions == 3) return "the stored cell has 3 directions; only 1, 2 and 4 are supported";
  if (stack.both_directions) return "the stored cell reads grids and does not support \"bi\"; leave it out";
  if (stack.trained_initial) return "the stored cell reads grids and does not support trained-initial=; leave it out";
  if (stack.direct > (patched ? 0 : 1))
    return patched ? "the stored cell reads grids in patches and does not support direct=; leave it out"
                   : "the stored cell reads grids and supports only direct=0 and direct=1";
  return "";
}

GridStack grid_member(const Json& json) {
  constexpr Index kMostDirections = 4, kMostSide = 64;
  constexpr std::size_t kMostPatches = 64;
  const Json& grid = member(json, "grid");
  GridStack result{.directions = whole_member(grid, "directions", 1, kMostDirections), .patches = {}};
  if (!member(grid, "patches").is_array() || grid["patches"].empty() || grid["patches"].size() > kMostPatches)
    fail("has patches that are not a short list");
  for (const Json& side : grid["patches"]) {
    const auto number = whole_number<Index>(side);
    if (!number || *number < 1 || *number > kMostSide) fail("has a patch that is out of range");
    result.patches.push_back(*number);
  }
  return result;
}

}  // namespace

const StoredCell::Made* StoredCell::find(const Circuit& c, const std::vector<Signal>& inputs, Index units,
                                         bool trained_initial) const {
  const auto fits = [&](const Made& made) {
    const std::vector<int> own = made.circuit.inputs();
    if (made.units != units || made.trained_initial != trained_initial || own.size() != inputs.size()) return false;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Node& node = made.circuit.nodes[at(own[i])];
      if (node.size != inputs[i].size() || (node.kind() == Node::Kind::symbols) != c.is_symbols(inputs[i]))
        return false;
    }
    return true;
  };
  const auto found = std::ranges::find_if(made_, fits);
  return found == made_.end() ? nullptr : &*found;
}

Signal StoredCell::add(Circuit& c, Signal x, Index units, bool trained_initial) const {
  const std::vector<Signal> inputs = c.parts(x);
  const Made* made = find(c, inputs, units, trained_initial);
  if (made == nullptr)
    fail(fmt::format(
        "{} has no circuit with {} units for {} of {}; it has only the circuits of the model that stored it",
        entry_.name, units, c.is_symbols(inputs.front()) ? "symbols" : "a vector", x.size()));
  if (c.nodes().size() + made->circuit.nodes.size() > kMostNodesOfAll)
    throw UsageError(fmt::format("a model with stored cells has more than {} nodes", kMostNodesOfAll));
  return add_circuit(c, made->circuit, inputs).at(at(made->output));
}

/// Makes the entry add copies of the circuits from now on.
void StoredCell::add_copies() {
  entry_.add = [this](Circuit& c, Signal x, Index units, const AnyOptions&, bool trained_initial) {
    return add(c, x, units, trained_initial);
  };
}

/// Copies an entry; its functions receive the options of the cell.
void StoredCell::wrap_options(const CellEntry& entry) {
  const auto own = [](const AnyOptions& options) -> const AnyOptions& { return options.as<StoredOptions>().own; };
  entry_ = entry;
  entry_.options = StoredOptions{.own = entry.options};
  entry_.fault = [own, f = entry.fault](const StackOptions& stack, const AnyOptions& o) { return f(stack, own(o)); };
  entry_.output_init = [own, f = entry.output_init](const AnyOptions& o) { return f(own(o)); };
  entry_.with_max_units = [f = entry.with_max_units](StackOptions& stack, AnyOptions& o, Index most) {
    f(stack, o.as<StoredOptions>().own, most);
  };
  if (entry.graph) entry_.graph = [f = entry.graph](AnyOptions& o) -> Index& { return f(o.as<StoredOptions>().own); };
  if (entry.children) entry_.children = [own, f = entry.children](const AnyOptions& o) { return f(own(o)); };
  if (entry.grid) entry_.grid = [own, f = entry.grid](const AnyOptions& o) { return f(own(o)); };
}

std::shared_ptr<const StoredCell> StoredCell::record(
    const CellEntry& entry, const std::function<void(const std::shared_ptr<const StoredCell>&)>& build) {
  auto cell = std::make_shared<StoredCell>();
  cell->wrap_options(entry);
  cell->entry_.add = [self = cell.get(), function = entry.add](Circuit& c, Signal x, Index units,
                                                               const AnyOptions& options, bool trained_initial) {
    const std::vector<Signal> given = c.parts(x);
    if (self->find(c, given, units, trained_initial) == nullptr) {
      Circuit own;
      std::vector<Signal> inputs = inputs_like(c, given, own);
      const Signal input = inputs.size() == 1 ? inputs.front() : own.join(std::move(inputs));
      const Signal output = function(own, input, units, options.as<StoredOptions>().own, trained_initial);
      if (output.circuit != &own || output.id < 0)
        throw UsageError(
            fmt::format("cell {} must return a signal of its circuit that is not joined", self->entry_.name));
      self->made_.push_back({units, trained_initial, data_of(own), output.id});
    }
    return self->add(c, x, units, trained_initial);
  };
  build(cell);
  cell->add_copies();
  return cell;
}

std::shared_ptr<const StoredCell> stored_cell_of(const AnyOptions& options) {
  try {
    return options.as<StoredOptions>().cell;
  } catch (const UsageError&) {
    return nullptr;
  }
}

Json StoredCell::to_json(const std::vector<std::string>& options) const {
  Json circuits = Json::array();
  for (const Made& made : made_)
    circuits.push_back({{"units", made.units},
                        {"trained-initial", made.trained_initial},
                        {"output", made.output},
                        {"circuit", circuit_to_json(made.circuit)}});
  Json result = {{"version", kCellVersion},
                 {"name", entry_.name},
                 {"options", options},
                 {"joined-input", entry_.accepts_joined_input},
                 {"probabilities", entry_.outputs_probabilities},
                 {"output-init", init_to_json(entry_.output_init(entry_.options))},
                 {"circuits", std::move(circuits)}};
  if (entry_.reads_trees()) result["children"] = entry_.children(entry_.options);
  if (entry_.reads_grids()) result["grid"] = grid_json(entry_.grid(entry_.options));
  return result;
}

std::shared_ptr<const StoredCell> StoredCell::from_json(const Json& json) {
  constexpr Index kMostVersion = 1000, kMostCircuits = 256, kMostChildren = 1024;
  if (const Index version = whole_member(json, "version", 0, kMostVersion); version != kCellVersion)
    fail(fmt::format("is of version {}, but this program reads {}; use a later version of Unfold", version,
                     kCellVersion));
  auto cell = std::make_shared<StoredCell>();
  CellEntry& entry = cell->entry_;
  entry.name = text_member(json, "name");
  require_entry_name("the stored cell", "cell", entry.name);
  entry.help = "a cell that the model file contains";
  entry.options = StoredOptions{.own = options_member(json)};
  entry.accepts_joined_input = flag_member(json, "joined-input");
  entry.outputs_probabilities = flag_member(json, "probabilities");
  entry.output_init = [init = init_from_json(member(json, "output-init"))](const AnyOptions&) { return init; };
  entry.with_max_units = [](StackOptions& stack, AnyOptions&, Index most) {
    stack.units = std::min(stack.units, most);
  };
  if (json.contains("children"))
    entry.children = [count = whole_member(json, "children", 0, kMostChildren)](const AnyOptions&) { return count; };
  entry.fault = [](const StackOptions&, const AnyOptions&) { return std::string(); };
  if (json.contains("grid")) {
    GridStack grid = grid_member(json);
    entry.grid = [grid](const AnyOptions&) { return grid; };
    entry.fault = [grid](const StackOptions& stack, const AnyOptions&) { return grid_fault(stack, grid); };
  }
  cell->add_copies();
  const Json& circuits = member(json, "circuits");
  if (!circuits.is_array() || static_cast<Index>(circuits.size()) > kMostCircuits) fail("has no list of circuits");
  for (const Json& one : circuits) {
    Made made{.units = whole_member(one, "units", 1, static_cast<Index>(kMostUnits)),
              .trained_initial = flag_member(one, "trained-initial"),
              .circuit = circuit_from_json(member(one, "circuit")),
              .output = 0};
    made.output = static_cast<int>(whole_member(one, "output", 0, std::ssize(made.circuit.nodes) - 1));
    if (made.circuit.inputs().empty()) fail("has a circuit without an input");
    cell->made_.push_back(std::move(made));
  }
  return cell;
}

}  // namespace unfold
