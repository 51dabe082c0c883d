#include "app/common/baseline_comparison.h"

#include <fmt/format.h>

#include <cmath>
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

namespace {

/// Returns whether a result needs a warning: it is worse than the baseline, or equal to it although errors are left. A
/// model that is itself the baseline has the same result up to rounding.
bool needs_warning(const ComparedBaseline& each) {
  constexpr double kRounding = 1e-9;
  const bool same = std::abs(each.result - each.baseline.value) <= kRounding * std::abs(each.baseline.value) &&
                    each.baseline.measure == "nats_per_symbol";
  return !is_better(each.result, each.baseline) && !are_both_exact(each.result, each.baseline) && !same;
}

}  // namespace

void report_baselines(const std::vector<ComparedBaseline>& baselines, const std::string& data, Reporter& reporter) {
  for (const ComparedBaseline& each : baselines)
    reporter.remark(needs_warning(each)
                        ? fmt::format("warning: {} is not better than a baseline: {}", data, comparison_of(each))
                        : fmt::format("{}: {}", data, comparison_of(each)));
}

}  // namespace unfold
