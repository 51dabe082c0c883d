#include "model/logs/template_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "data/counts/distinct_count.h"
#include "model/logs/log_json.h"

namespace unfold {
namespace {

constexpr std::size_t kLongestTemplate = 1000;

}  // namespace

void LogTemplateList::count(std::string_view shape, Index lines) {
  lines_ += lines;
  const std::uint64_t id = hash_of_cell(shape);
  const auto [place, is_new] = counts_.try_emplace(id);
  if (is_new) place->second = {.id = id, .text = escape_controls(shape.substr(0, kLongestTemplate))};
  place->second.lines += lines;
  if (counts_.size() <= kMostCounted) return;
  std::erase_if(counts_, [](const auto& entry) { return entry.second.lines <= 1; });
  if (counts_.size() > kMostCounted / 2) counts_.clear();
}

std::vector<LogTemplateCount> LogTemplateList::most_frequent() const {
  std::vector<LogTemplateCount> sorted;
  for (const auto& [id, one] : counts_) sorted.push_back(one);
  std::ranges::sort(sorted, [](const LogTemplateCount& a, const LogTemplateCount& b) {
    return a.lines != b.lines ? a.lines > b.lines : a.text < b.text;
  });
  sorted.resize(std::min(sorted.size(), kMostStored));
  return sorted;
}

std::string LogTemplateList::text_of(std::uint64_t id) const {
  const auto found = counts_.find(id);
  return found == counts_.end() ? std::string() : found->second.text;
}

nlohmann::json LogTemplateList::to_json() const {
  std::vector<std::uint64_t> ids;
  std::vector<Index> lines;
  std::vector<std::string> texts;
  for (const LogTemplateCount& one : most_frequent()) {
    ids.push_back(one.id);
    lines.push_back(one.lines);
    texts.push_back(one.text);
  }
  return {{"ids", ids}, {"lines", lines}, {"texts", texts}, {"all-lines", lines_}};
}

LogTemplateList LogTemplateList::from_json(const nlohmann::json& json) {
  LogTemplateList list;
  const std::vector<std::uint64_t> ids = log_hashes(json, "ids");
  const std::vector<Index> lines = log_counts(json, "lines");
  const nlohmann::json& texts = log_list(json, "texts");
  if (ids.size() != lines.size() || ids.size() != texts.size() || ids.size() > kMostStored)
    refuse_log_model("the templates are inconsistent");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!texts[i].is_string()) refuse_log_model("the templates are inconsistent");
    list.counts_[ids[i]] = {.id = ids[i], .lines = lines[i], .text = texts[i].get<std::string>()};
  }
  list.lines_ = log_count(json, "all-lines");
  return list;
}

}  // namespace unfold
