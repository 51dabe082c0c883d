#include "model/logs/shape_counts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/logs/count_table.h"
#include "model/logs/log_json.h"

namespace unfold {

void LogShapeCounts::add(std::string_view shape, Index lines) {
  lines_ += lines;
  if (const auto found = counts_.find(shape); found != counts_.end()) {
    found->second += lines;
    return;
  }
  if (counts_.size() >= kMost) make_room();
  counts_.emplace(shape, lines);
}

void LogShapeCounts::make_room() {
  for (const Index least : {Index{1}, lines_}) {
    for (auto entry = counts_.begin(); entry != counts_.end();) {
      if (entry->second > least) {
        ++entry;
        continue;
      }
      removed_ += entry->second;
      lines_ -= entry->second;
      entry = counts_.erase(entry);
    }
    if (counts_.size() <= kMost / 2) return;
  }
}

void LogShapeCounts::decay(double factor) {
  lines_ = 0;
  for (auto& [shape, lines] : counts_) lines_ += lines = decayed_count(lines, factor);
  std::erase_if(counts_, [](const auto& entry) { return entry.second == 0; });
}

std::vector<std::pair<std::string_view, Index>> LogShapeCounts::sorted() const {
  std::vector<std::pair<std::string_view, Index>> all(counts_.begin(), counts_.end());
  std::ranges::sort(all);
  return all;
}

nlohmann::json LogShapeCounts::to_json() const {
  nlohmann::json shapes = nlohmann::json::array(), lines = nlohmann::json::array();
  for (const auto& [shape, count] : sorted()) {
    shapes.push_back(shape);
    lines.push_back(count);
  }
  return {{"shapes", std::move(shapes)}, {"lines", std::move(lines)}, {"removed", removed_}};
}

LogShapeCounts LogShapeCounts::from_json(const nlohmann::json& json) {
  LogShapeCounts result;
  const nlohmann::json& shapes = log_list(json, "shapes");
  const std::vector<Index> lines = log_counts(json, "lines");
  if (shapes.size() != lines.size() || lines.size() > kMost) refuse_log_model("inconsistent shapes");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!shapes[i].is_string() || lines[i] < 1) refuse_log_model("inconsistent shapes");
    result.add(shapes[i].get_ref<const std::string&>(), lines[i]);
  }
  result.removed_ = log_count(json, "removed");
  return result;
}

}  // namespace unfold
