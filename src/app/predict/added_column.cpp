#include "app/predict/added_column.h"

#include "app/fields/field_entries.h"
#include "unfold/base/types.h"

namespace unfold {

nlohmann::ordered_json AddedColumn::json(Index entry) const {
  if (!values.empty()) return values[at(entry)];
  if (texts.empty()) return numbers[at(entry)];
  return entry_json({.name = name, .texts = {texts[at(entry)]}, .integers = integers}, 0);
}

std::string AddedColumn::text(Index entry) const {
  return texts.empty() ? predicted_number(numbers[at(entry)], deviation) : texts[at(entry)];
}

}  // namespace unfold
