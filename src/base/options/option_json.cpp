#include "base/options/option_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace unfold {
namespace {

const char* type_name(const OptionTarget& target) {
  constexpr const char* kNames[] = {"flag",    "integer", "number", "string", "list",
                                    "integer", "number",  "string", "string"};
  return kNames[target.index()];
}

}  // namespace

nlohmann::ordered_json to_json(const OptionRow& row) {
  nlohmann::ordered_json json = {
      {"name", row.name},     {"type", type_name(row.target)}, {"placeholder", row.placeholder},
      {"help", row.help},     {"default", default_of(row)},    {"group", title(row.group)},
      {"common", row.common}, {"input", row.is_input},         {"stored", row.keep != Keep::nowhere}};
  if (!(row.kinds == Kinds::all())) json["applies_to"] = to_string(row.kinds);
  if (row.by_gradient) json["by_gradient"] = true;
  if (!row.choices.empty()) json["choices"] = row.choices;
  if (!row.aliases.empty()) json["aliases"] = row.aliases;
  if (!row.letter.empty()) json["letter"] = row.letter;
  if (std::isfinite(row.least)) json["least"] = row.least;
  if (std::isfinite(row.most)) json["most"] = row.most;
  return json;
}

nlohmann::ordered_json to_json(const OptionRows& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const OptionRow& row : rows)
    if (!row.help.empty()) json.push_back(to_json(row));
  return json;
}

}  // namespace unfold
