#pragma once
/// The defaults of training on data with fields: model, optimizer and budget for each kind of problem.

#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Sets model, optimizer and budget for the problem unless they were set explicitly. For labels predicted from whole
/// sequences it also sets the loss (crf), in the plan and in `predict`.
void set_problem_defaults(FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& settings);

/// Returns the value of `read` that names, instead of each text that is stated, the fields that are derived from it by
/// default and that the default model for texts needs; empty if no text is stated alone.
std::optional<std::string> reads_of_texts(const FieldPlan& plan, const Examples& examples, TrainSettings settings);
/// Returns a note if the budget in minutes determines which fields are read; empty otherwise. `settings`: as before
/// `plan_fields`.
std::string note_on_minutes(const FieldPlan& plan, const Examples& examples, TrainSettings settings);

}  // namespace unfold
