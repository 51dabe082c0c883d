#include "unfold/runs/measured_split.h"

#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {

std::optional<std::string> measured_split(const std::optional<std::string>& split,
                                          const std::optional<std::string>& part, const Model& model) {
  if (split || !part) return split;
  const auto text = [&](const char* key) {
    const auto found = model.configuration().find(key);
    return found != model.configuration().end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  // With only-label, the split in training divided different lines from those read now.
  if (const std::string own = text("split"); !own.empty() && text("only-label").empty()) return own;
  throw UsageError("--part needs --split: which split is it a part of? For example --split 90/5/5");
}

}  // namespace unfold
