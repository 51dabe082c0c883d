#include "app/settings/evaluation_split.h"

#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {

bool validates(const TrainSettings& s) { return s.task || s.valid || !s.split || parse_split(*s.split).shares[1] > 0; }

SplitOrder split_order(const TrainSettings& s) {
  return s.lines && s.format != kLogFormat ? SplitOrder::shuffled : SplitOrder::contiguous;
}

SplitOrder split_order(const SymbolModel& model) {
  const bool is_log = model.configuration().contains("log");
  return model.reads_lines() && !is_log ? SplitOrder::shuffled : SplitOrder::contiguous;
}

std::optional<std::string> measured_split(const std::optional<std::string>& split,
                                          const std::optional<std::string>& part, const Model& model) {
  if (split || !part) return split;
  const auto text = [&](const char* key) {
    const auto found = model.configuration().find(key);
    return found != model.configuration().end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (const std::string own = text("split"); !own.empty()) return own;
  throw UsageError("--part needs --split, for example --split 90/5/5");
}

}  // namespace unfold
