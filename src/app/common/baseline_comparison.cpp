#include "app/common/baseline_comparison.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/selection/exact_baseline.h"

namespace unfold {

nlohmann::ordered_json to_json(const std::vector<ComparedBaseline>& baselines) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ComparedBaseline& each : baselines) {
    nlohmann::ordered_json one = {{"name", each.baseline.name},
                                  {"measure", each.baseline.measure},
                                  {"value", each.baseline.value},
                                  {"result", each.result},
                                  {"better", is_better(each.result, each.baseline)}};
    if (!each.of.empty()) one["field"] = each.of;
    json.push_back(std::move(one));
  }
  return json;
}

std::string comparison_of(const ComparedBaseline& each) {
  return fmt::format("{}{} {:.4g}, the baseline {} {:.4g}", each.of.empty() ? "" : each.of + ": ",
                     each.baseline.measure, each.result, each.baseline.name, each.baseline.value);
}

void report_baselines(const std::vector<ComparedBaseline>& baselines, const std::string& data, Reporter& reporter) {
  for (const ComparedBaseline& each : baselines)
    reporter.remark(is_better(each.result, each.baseline) || are_both_exact(each.result, each.baseline)
                        ? fmt::format("{}: {}", data, comparison_of(each))
                        : fmt::format("warning: {} is not better than a baseline: {}", data, comparison_of(each)));
}

}  // namespace unfold
