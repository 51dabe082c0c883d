#include "app/fields/missing_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/fields/field_model.h"
#include "base/options/shell_argument.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "data/examples/derived.h"
#include "data/examples/field_origin.h"
#include "data/examples/templates.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

/// An input of which the data has no column.
struct MissingInput {
  std::string name;  ///< the column from which the field is derived
  bool once = false;
  Index width = 0;  ///< 0: strings
};

bool is_text_column(const Model& model, const std::string& column) {
  const nlohmann::json& card = model.configuration();
  if (!card.contains(kSchemaKey)) return false;
  const auto found = card[kSchemaKey].find(column);
  return found != card[kSchemaKey].end() && found->value("type", "") == "text";
}

/// Returns the columns of texts that are no fields: several columns may be read as one text.
std::vector<std::string> joined_texts(const Model& model) {
  std::vector<std::string> names;
  const nlohmann::json& card = model.configuration();
  if (!card.contains(kSchemaKey)) return names;
  for (const auto& [name, column] : card[kSchemaKey].items())
    if (is_text_column(model, name) &&
        std::ranges::find(model.data().fields, name, &FieldSpecification::name) == model.data().fields.end())
      names.push_back(name);
  return names;
}

std::string column_of(std::string field, Type type) {
  if (type == Type::values) return field;
  while (const std::optional<DerivedField> derived = parse_derived(field)) field = derived->field;
  return field;
}

/// Returns " (train --read A,B)" with the columns of the inputs that the data has; empty if there is none, or too many.
std::string read_present(const Model& model, const ColumnsByName& columns, const std::vector<std::string>& inputs) {
  constexpr std::size_t kMostNames = 8;
  std::vector<std::string> names;
  for (const std::string& input : inputs) {
    std::string name = column_of(input, model.data().field(input).type);
    if (parse_template(name).empty() && columns.find(name) != nullptr && std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }
  if (names.empty() || names.size() > kMostNames) return {};
  return fmt::format(" (train --read {})", shell_argument(fmt::format("{}", fmt::join(names, ","))));
}

[[noreturn]] void refuse_missing(const Model& model, const ColumnsByName& columns,
                                 const std::vector<std::string>& inputs, const std::string& field) {
  try {
    (void)need_origin(columns, field);
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("{}; the model reads this column: add it, with empty cells if its values are not known, or train a "
                    "model without it{}",
                    error.what(), read_present(model, columns, inputs)));
  }
  throw DataError(fmt::format("{} has no field {}", columns.examples().source, in_quotes(field)));
}

/// Returns the columns of the data that are not inputs.
std::vector<std::string> other_columns(const Examples& examples, const std::set<std::string>& inputs) {
  std::vector<std::string> names;
  for (const ExampleColumn& column : examples.columns)
    if (!column.derived && !inputs.contains(column.name)) names.push_back(column.name);
  return names;
}

ExampleColumn column_without_values(const MissingInput& input, const Examples& examples) {
  ExampleColumn column{.name = input.name, .once = input.once, .width = input.width};
  const auto entries = at(input.once ? examples.count() : examples.positions());
  if (column.is_text())
    column.texts.resize(entries);
  else
    column.numbers.resize(entries * at(column.width));
  column.missing.assign(entries, 1);
  column.derived = true;  // it is not written with the data
  return column;
}

/// Returns "; the accuracy of "category" was 0.85 without it in validation, and 0.9 with it"; empty if it was not
/// measured.
std::string loss_without(const Model& model, const std::string& column) {
  const nlohmann::json& card = model.configuration();
  if (!card.contains(kWithoutColumnKey) || !card[kWithoutColumnKey].contains(column)) return {};
  std::string text;
  for (const auto& [field, found] : card[kWithoutColumnKey][column].items()) {
    std::string measure = found.at("measure").get<std::string>();
    std::ranges::replace(measure, '_', ' ');
    text += fmt::format("; the {} of {} was {:.4g} without it in validation, and {:.4g} with it", measure,
                        in_quotes(field), found.at("without").get<double>(), found.at("with").get<double>());
  }
  return text;
}

}  // namespace

std::vector<std::string> add_missing_columns(const Model& model, const std::vector<std::string>& inputs,
                                             Examples& examples) {
  const ColumnsByName columns(examples);
  for (const std::string& text : joined_texts(model))
    if (FieldOrigin(columns, text).column == nullptr) refuse_missing(model, columns, inputs, text);
  std::vector<MissingInput> missing;
  std::set<std::string> known;
  std::string first;
  bool any = inputs.empty();
  for (const std::string& input : inputs) {
    const FieldSpecification& field = model.data().field(input);
    const std::string name = column_of(input, field.type);
    known.insert(name);
    if (FieldOrigin(columns, input).column != nullptr) {
      any = true;
      continue;
    }
    if (columns.find(name) != nullptr || !parse_template(input).empty() || field.spelt || field.source ||
        is_text_column(model, name))
      refuse_missing(model, columns, inputs, input);
    if (first.empty()) first = input;
    if (std::ranges::find(missing, name, &MissingInput::name) == missing.end())
      missing.push_back({name, field.once, field.type == Type::values ? field.size : 0});
  }
  if (missing.empty()) return {};
  if (!any) refuse_missing(model, columns, inputs, first);
  const std::vector<std::string> others = other_columns(examples, known);
  for (const MissingInput& input : missing)
    if (!did_you_mean(input.name, others).empty()) refuse_missing(model, columns, inputs, input.name);
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (i < kMostNamed)
      warnings.push_back(
          fmt::format("{}: column {}, which the model reads, is absent; its values are treated as missing{}",
                      examples.source, in_quotes(missing[i].name), loss_without(model, missing[i].name)));
    examples.columns.push_back(column_without_values(missing[i], examples));
  }
  if (missing.size() > kMostNamed)
    warnings.push_back(fmt::format("{}: {} other columns that the model reads are treated as missing, too",
                                   examples.source, missing.size() - kMostNamed));
  return warnings;
}

Examples without_values_of(Examples examples, const std::string& name) {
  const auto column = std::ranges::find(examples.columns, name, &ExampleColumn::name);
  column->missing.assign(at(column->entries()), 1);
  return examples;
}

}  // namespace unfold
