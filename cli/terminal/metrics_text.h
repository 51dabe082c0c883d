#pragma once
/// Formatting of metrics for the output of the command.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/common/perplexity.h"
#include "app/evaluate/task_evaluation.h"
#include "app/fields/evaluation/field_metrics.h"

namespace unfold {

/// Formats the metrics, one per line.
std::string to_text(const Figures& figures);
std::string to_text(const TaskMetrics& figures);
std::string to_text(const FieldFigures& figures);
/// Formats baselines; ends with a warning if the result is not better than all of them.
std::string to_text(const std::vector<ComparedBaseline>& baselines);

/// Returns the name of a metric with spaces: "error rate".
std::string metric_name(std::string name);

/// Returns a table of the twenty most frequent classes of each head that predicts symbols, or of its types of chunks:
/// count, precision, recall and F1. Empty if a head has a single class.
std::string classes_text(const FieldFigures& figures);

/// Lists the ten most frequent confusions of each head that predicts symbols: count, observed label, predicted label.
std::string confusions_text(const FieldFigures& figures);

/// Returns the JSON on one line with a newline. Bytes that are not valid UTF-8 are replaced.
std::string one_line(const nlohmann::ordered_json& json);

}  // namespace unfold
