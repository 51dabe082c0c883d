#include "unfold/app/field_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {

TrainSettings stored_settings(const Model& model) {
  TrainSettings settings;
  const nlohmann::json& stored = model.configuration();
  settings.format = model.data().source;
  settings.symbols = stored.value("symbols", std::string(kAnyText));
  if (stored.contains("sequences")) settings.sequences = stored["sequences"].get<std::string>();
  settings.window = stored.value("window", settings.window);
  return settings;
}

Examples read_for(const Model& model, const std::vector<std::string>& files) {
  return read_fields(files, reader_options(stored_settings(model)));
}

std::vector<std::string> predicted_fields(const NetworkLayout& layout) {
  std::vector<std::string> names;
  names.reserve(layout.heads.size());
  for (const HeadSpecification& head : layout.heads) names.push_back(head.field);
  return names;
}

void refuse_without_fields(const Model& model, const std::string& name) {
  throw UsageError(fmt::format("{}: {} reads {}, which has no fields", name, model.spec_text(), model.data().source));
}

}  // namespace unfold
