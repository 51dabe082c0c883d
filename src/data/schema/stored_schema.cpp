#include "data/schema/stored_schema.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using SchemaJson = nlohmann::json;

constexpr std::array<const char*, 2> kDecimalMarks = {"point", "comma"};
constexpr std::array<const char*, 4> kThousandsMarks = {"none", "comma", "point", "space"};

bool is_numeric(const ColumnSchema& column) {
  return column.type == ColumnType::number || column.type == ColumnType::integer;
}

bool needs_storing(const ColumnSchema& column) {
  if (column.role == ColumnRole::left_out) return false;
  if (is_numeric(column)) return column.convention != NumberConvention{} || !column.number_unit.empty();
  return column.type == ColumnType::text || (column.type == ColumnType::date && column.date_format.has_value());
}

SchemaJson json_of_column(const ColumnSchema& column) {
  SchemaJson json = {{"type", type_name(column.type)}};
  if (is_numeric(column)) {
    json["decimal"] = kDecimalMarks[static_cast<std::size_t>(column.convention.decimal)];
    json["thousands"] = kThousandsMarks[static_cast<std::size_t>(column.convention.thousands)];
    if (!column.number_unit.empty()) json["number_unit"] = column.number_unit;
  } else if (column.type == ColumnType::text) {
    json["unit"] = column.unit == TextUnit::words ? "words" : "characters";
  } else {
    json["format"] = date_pattern(*column.date_format);
  }
  return json;
}

template <class Enum, std::size_t N>
Enum mark_of(const SchemaJson& json, const char* key, const std::array<const char*, N>& names) {
  const auto name = json.at(key).get<std::string>();
  for (std::size_t i = 0; i < N; ++i)
    if (name == names[i]) return static_cast<Enum>(i);
  throw ModelError(fmt::format("\"schema\" in the card has an unknown {} mark", key));
}

StatedType type_of_json(const SchemaJson& json) {
  const auto type = json.at("type").get<std::string>();
  if (type == "text") {
    const auto unit = json.at("unit").get<std::string>();
    return {
        .type = ColumnType::text, .unit = unit == "words" ? TextUnit::words : TextUnit::characters, .date_format = {}};
  }
  if (type == "date") {
    const std::optional<DateFormat> format = date_format_of(json.at("format").get<std::string>());
    if (!format) throw ModelError("\"schema\" in the card has an unknown date format");
    return {.type = ColumnType::date, .unit = {}, .date_format = format};
  }
  if (type != "number" && type != "integer") throw ModelError("\"schema\" in the card has an unknown type");
  return {.type = ColumnType::number,
          .unit = {},
          .date_format = {},
          .convention = NumberConvention{mark_of<DecimalMark>(json, "decimal", kDecimalMarks),
                                         mark_of<ThousandsMark>(json, "thousands", kThousandsMarks)},
          .number_unit = json.value("number_unit", std::string())};
}

}  // namespace

nlohmann::json stored_schema(const TableSchema& schema) {
  SchemaJson columns = SchemaJson::object();
  for (const ColumnSchema& column : schema.columns)
    if (needs_storing(column)) columns[column.name] = json_of_column(column);
  return columns.empty() ? SchemaJson() : columns;
}

void apply_stored_schema(const nlohmann::json& json, SchemaOptions& options) {
  try {
    for (const auto& [name, column] : json.items()) options.types.insert_or_assign(name, type_of_json(column));
  } catch (const nlohmann::json::exception&) {
    throw ModelError("\"schema\" in the card is invalid");
  }
}

StatedType stated_type(const ColumnSchema& column) {
  StatedType stated{.type = column.type, .unit = {}, .date_format = column.date_format};
  if (column.type == ColumnType::text) stated.unit = column.unit;
  if (is_numeric(column)) stated.convention = column.convention, stated.number_unit = column.number_unit;
  return stated;
}

}  // namespace unfold
