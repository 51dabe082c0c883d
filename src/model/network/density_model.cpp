#include "model/network/density_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

Signal what_is_read(Circuit&, Signal x, Index, const NoOptions&) { return x; }

/// Returns a placeholder cell that is not in the registry and adds no layers.
const CellEntry& density_cell() {
  static const CellEntry entry = CellOf<NoOptions>{.name = "density", .help = "reads nothing", .add = what_is_read};
  return entry;
}

/// Returns the options that differ from the defaults, with the main option first.
std::string canonical(const ChosenLoss& loss) {
  Spec spec;
  spec.name = loss.entry.name;
  spec.values = non_default_values(help_of(loss.options), help_of(loss.entry.options));
  for (const OptionHelp& option : help_of(loss.options))
    if (option.name == loss.entry.main_option) spec.size = option.value;
  std::erase_if(spec.values, [&](const auto& value) { return value.first == loss.entry.main_option; });
  return to_string(spec);
}

/// Returns the option `columns` of a loss; null if the loss does not have this option.
std::unique_ptr<OptionHelp> columns_option(const ChosenLoss& loss) {
  for (const OptionHelp& option : help_of(loss.options))
    if (option.name == "columns") return std::make_unique<OptionHelp>(option);
  return nullptr;
}

Column plain_column(const LossEntry& loss) {
  return {.kind = observes_bits(loss.density) ? Column::Kind::bit : Column::Kind::number};
}

}  // namespace

bool names_density(std::string_view spec) {
  const LossEntry* entry = losses().find(spec_name(spec));
  return entry != nullptr && entry->density != Density::none;
}

bool is_of_sequences(std::string_view spec) { return losses().get(spec_name(spec)).density == Density::sequences; }

ModelSpec parse_density(std::string_view spec) {
  ModelSpec result;
  result.cell = &density_cell();
  result.options = density_cell().options;
  const ChosenLoss loss = choose_loss(spec);
  if (const auto option = columns_option(loss)) (void)parse_columns(option->value);
  result.density = canonical(loss);
  return result;
}

std::vector<Column> density_columns(const ModelSpec& spec, Index numbers) {
  const ChosenLoss loss = choose_loss(spec.density);
  const auto option = columns_option(loss);
  if (option != nullptr && !option->value.empty()) return parse_columns(option->value);
  return std::vector<Column>(at(numbers), plain_column(loss.entry));
}

std::string with_columns(std::string_view text, const std::vector<Column>& columns) {
  const ChosenLoss loss = choose_loss(text);
  const auto option = columns_option(loss);
  const bool plain = std::ranges::all_of(columns, [&](const Column& c) { return c == plain_column(loss.entry); });
  if (option == nullptr && !plain)
    throw UsageError(
        fmt::format("model {} supports only {}; nade, made and deep-nade also support classes, rnade and deep-rnade "
                    "all kinds of columns",
                    text, observes_bits(loss.entry.density) ? "bits" : "numbers"));
  if (plain && (option == nullptr || option->value.empty())) return std::string(text);
  const std::string wanted = plain ? "" : to_string(columns);
  if (option != nullptr && !option->value.empty() && option->value != wanted)
    throw UsageError(fmt::format("model {}: the columns of the data are {}; leave out the option columns", text,
                                 to_string(std::span(columns))));
  Spec spec = parse_spec(text);
  std::erase_if(spec.values, [](const auto& value) { return value.first == "columns"; });
  if (!plain) spec.values.emplace_back("columns", wanted);
  return to_string(spec);
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
