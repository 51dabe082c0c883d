#pragma once
/// The comparison of a result with baselines (model/selection/baselines.h) as text and as JSON, in the same form for
/// train, eval and report.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "model/selection/baselines.h"

namespace unfold {

/// [{"name", "measure", "value", "result", "better"}], and "field" for data with fields.
nlohmann::ordered_json to_json(const std::vector<ComparedBaseline>& baselines);
/// Returns "label: accuracy 0.93, the baseline majority class 0.5".
std::string comparison_of(const ComparedBaseline& compared);
/// Reports the baselines; the report is a warning if the result is not better than one of them. `data`: "validation".
void report_baselines(const std::vector<ComparedBaseline>& baselines, const std::string& data, Reporter& reporter);

}  // namespace unfold
