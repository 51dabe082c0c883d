#include "data/readers/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/readers/reader_text.h"
#include "data/schema/numeric_cell.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"

namespace unfold {

nlohmann::json object_in_line(const std::string& source, std::string_view line, Index number) {
  JsonLimits limits{.depth = 8};
  limits.values = std::max<Index>(limits.values, static_cast<Index>(line.size()));
  limits.containers = std::max<Index>(limits.containers, static_cast<Index>(line.size()) / 4);
  nlohmann::json object;
  try {
    object = parse_json(line, fmt::format("{}: line {}", source, number), limits);
  } catch (const ModelError& error) {
    throw DataError(fmt::format("{}; write one object per line, and null for missing values", error.what()));
  }
  if (!object.is_object())
    throw_data_error(source, number, "not a JSON object; write one object per line: {\"x\": [1, 2]}");
  return object;
}

bool is_record(const nlohmann::json& object) {
  return object.is_object() && !object.empty() && std::ranges::none_of(object.items(), [](const auto& item) {
           return item.value().is_structured() || (item.key() == "text" && item.value().is_string());
         });
}

std::vector<std::string> record_keys(std::string_view text) {
  std::vector<std::string> keys;
  for (ReaderLines lines(text); lines.next();) {
    const auto object = nlohmann::json::parse(lines.line(), nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) continue;
    for (const auto& item : object.items())
      if (std::ranges::find(keys, item.key()) == keys.end()) keys.push_back(item.key());
  }
  return keys;
}

bool is_json_text(const nlohmann::json& value) { return value.is_string() || value.is_boolean(); }

std::string json_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

bool is_inexact_integer(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestExactInteger);
  return value.is_number_integer() && value.get<std::int64_t>() < -kLargestExactInteger;
}

}  // namespace unfold
