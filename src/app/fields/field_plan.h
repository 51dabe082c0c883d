#pragma once
/// The choice of the fields that a network reads and predicts. Splits are in example_split.h, the default settings for
/// each kind of problem in problem_defaults.h.

#include <set>
#include <string>
#include <vector>

#include "app/settings/train_settings.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_body.h"

namespace unfold {

/// The kind of problem that follows from the chosen fields. It determines the defaults of other settings.
enum class Problem {
  tagging,      ///< predicts at every position, from the whole sequence
  classifying,  ///< predicts once per sequence
  forecasting,  ///< predicts the following positions
  transducing,  ///< predicts a target of a different length from a source
  generating    ///< predicts whole sequences, from condition fields or unconditionally
};

/// The fields that are read and predicted, and how.
struct FieldPlan {
  NetworkLayout layout;
  FieldChoice choice;
  Problem problem = Problem::tagging;
};

/// Returns the field that is predicted if none was named: the label of labeled data, or the only numeric column. Empty
/// if there is no such field.
std::string obvious_target(const Examples& examples);

/// Fills in `read`, `predict` and `ahead` where they are not set, and returns the plan. Throws UsageError, DataError.
FieldPlan plan_fields(const Examples& examples, TrainSettings& settings);
Problem problem_of(const NetworkLayout& layout, const std::set<std::string, std::less<>>& once);
Problem problem_of(const NetworkLayout& layout, const DataSpecification& data);
/// Returns whether the network reads earlier labels together with other fields at the same position, so that its labels
/// are found by a search (model/decoding/label_decoder.h).
bool reads_earlier_labels(const FieldPlan& plan, const Examples& examples, const TrainSettings& settings);
/// Returns the problem of a stored model.
Problem stored_problem(const Model& model, const NetworkLayout& layout);
/// Throws UsageError if the model reads what it predicts, and DataError for numbers that a loss cannot predict.
void check_fields(const FieldPlan& plan, const Examples& examples, const TrainSettings& settings);

}  // namespace unfold
