#include "unfold/models/density_model.h"

#include <algorithm>

#include "unfold/losses/registry.h"

namespace unfold {
namespace {

Signal what_is_read(Circuit&, Signal x, Index, const NoOptions&) { return x; }

/// No cell of the registry: it adds nothing.
const CellEntry& density_cell() {
  static const CellEntry entry = CellOf<NoOptions>{.name = "density", .help = "reads nothing", .add = what_is_read};
  return entry;
}

/// Only what differs from the defaults, the main option in front.
std::string canonical(const ChosenLoss& loss) {
  Spec spec;
  spec.name = loss.entry.name;
  spec.values = changed_values(help_of(loss.options), help_of(loss.entry.options));
  for (const OptionHelp& option : help_of(loss.options))
    if (option.name == loss.entry.main_option) spec.size = option.value;
  std::erase_if(spec.values, [&](const auto& value) { return value.first == loss.entry.main_option; });
  return to_string(spec);
}

}  // namespace

bool names_density(std::string_view spec) {
  const LossEntry* entry = losses().find(spec_name(spec));
  return entry != nullptr && entry->density != Density::none;
}

ModelSpec parse_density(std::string_view spec) {
  ModelSpec result;
  result.cell = &density_cell();
  result.options = density_cell().options;
  result.density = canonical(choose_loss(spec));
  return result;
}

std::vector<std::string> density_names() {
  std::vector<std::string> names;
  for (const LossEntry& entry : losses())
    if (entry.density != Density::none) names.push_back(entry.name);
  return names;
}

std::vector<EntryHelp> density_help() {
  std::vector<EntryHelp> result;
  for (const EntryHelp& help : losses().help())
    if (losses().get(help.name).density != Density::none) result.push_back(help);
  return result;
}

}  // namespace unfold
