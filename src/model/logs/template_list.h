#pragma once
/// The most frequent templates of a log, with the number of their lines.
///
///   LogTemplateList list;
///   list.count(line.shape);
///   for (const LogTemplateCount& one : list.most_frequent()) one.id, one.lines, one.text
///
/// The identifier of a template depends only on its text (template_name in log_event.h). While lines are counted,
/// memory is bounded: beyond 2^17 templates, templates with a single line are dropped. The JSON form contains the
/// thousand most frequent templates, with texts of at most 1,000 bytes.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct LogTemplateCount {
  std::uint64_t id = 0;
  Index lines = 0;
  std::string text = {};
};

class LogTemplateList {
 public:
  static constexpr std::size_t kMostStored = 1000, kMostCounted = std::size_t{1} << 17;
  void count(std::string_view shape, Index lines = 1);
  /// Returns at most kMostStored templates, in descending order of lines, then by text.
  std::vector<LogTemplateCount> most_frequent() const;
  Index lines() const { return lines_; }        ///< number of lines of all templates
  std::string text_of(std::uint64_t id) const;  ///< empty if the template is not stored

  nlohmann::json to_json() const;
  /// Throws ModelError for JSON that `to_json` cannot have produced.
  static LogTemplateList from_json(const nlohmann::json& json);

 private:
  std::unordered_map<std::uint64_t, LogTemplateCount> counts_;
  Index lines_ = 0;
};

}  // namespace unfold
